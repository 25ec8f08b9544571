//! Authentication plugins: their responses to the server's nonce.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rsa::pkcs8::DecodePublicKey;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use crate::ProtocolError;

/// MySQL before 8, and MariaDB.
pub const NATIVE: &str = "mysql_native_password";
/// MySQL since 8.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The same without the fast path. MySQL also requests it for unknown accounts, so as not to
/// reveal which accounts exist.
pub const SHA256: &str = "sha256_password";
/// MariaDB's Ed25519 plugin.
pub const ED25519: &str = "client_ed25519";
/// The password in clear text.
pub const CLEAR: &str = "mysql_clear_password";

/// The plugins that dyno supports, for messages.
const SUPPORTED: &str = "mysql_native_password, caching_sha2_password, sha256_password, client_ed25519 and mysql_clear_password";

/// caching_sha2_password: the server has cached the password's hash; an OK follows.
pub const FAST_PATH_OK: u8 = 3;
/// caching_sha2_password: the server needs the password itself.
pub const FULL_PATH: u8 = 4;
/// caching_sha2_password: requests the server's RSA key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;
/// sha256_password: requests the server's RSA key.
pub const REQUEST_PUBLIC_KEY_SHA256: u8 = 1;

/// The first response of `plugin` to the nonce `scramble`: a proof that does not reveal the
/// password. `None` if the plugin requires the password itself; the caller decides whether the
/// server may have it.
pub fn first_answer(
    plugin: &str,
    password: &str,
    scramble: &[u8],
) -> Result<Option<Vec<u8>>, ProtocolError> {
    Ok(Some(match plugin {
        NATIVE | CACHING_SHA2 if password.is_empty() => Vec::new(),
        NATIVE => native(password.as_bytes(), scramble).to_vec(),
        CACHING_SHA2 => caching_sha2(password.as_bytes(), scramble).to_vec(),
        ED25519 => ed25519(password.as_bytes(), scramble).to_vec(),
        SHA256 | CLEAR if password.is_empty() => clear(password),
        SHA256 | CLEAR => return Ok(None),
        other => {
            return Err(ProtocolError::UnknownMethod {
                method: other.to_owned(),
                supported: SUPPORTED,
            });
        }
    }))
}

/// The password and a zero byte, as every plugin sends it in clear text.
pub fn clear(password: &str) -> Vec<u8> {
    let mut bytes = password.as_bytes().to_vec();
    bytes.push(0);
    bytes
}

/// `SHA1(password) XOR SHA1(scramble, SHA1(SHA1(password)))`
fn native(password: &[u8], scramble: &[u8]) -> [u8; 20] {
    let once = Sha1::digest(password);
    let twice = Sha1::digest(once);
    let mask = Sha1::new()
        .chain_update(scramble)
        .chain_update(twice)
        .finalize();
    xor(once.into(), mask.into())
}

/// `SHA256(password) XOR SHA256(SHA256(SHA256(password)), scramble)`
fn caching_sha2(password: &[u8], scramble: &[u8]) -> [u8; 32] {
    let once = Sha256::digest(password);
    let twice = Sha256::digest(once);
    let mask = Sha256::new()
        .chain_update(twice)
        .chain_update(scramble)
        .finalize();
    xor(once.into(), mask.into())
}

fn xor<const N: usize>(mut left: [u8; N], right: [u8; N]) -> [u8; N] {
    for (byte, mask) in left.iter_mut().zip(right) {
        *byte ^= mask;
    }
    left
}

/// MariaDB's ed25519: the secret key is the SHA-512 of the password itself, of any length,
/// rather than of a 32-byte seed.
fn ed25519(password: &[u8], scramble: &[u8]) -> [u8; 64] {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&hash);
    let public = VerifyingKey::from(&key);
    raw_sign::<Sha512>(&key, scramble, &public).to_bytes()
}

/// The password encrypted with the server's public key (PEM), as caching_sha2_password sends
/// it without TLS: XOR with the nonce, then RSA-OAEP with SHA-1.
pub fn encrypt_password(
    password: &str,
    scramble: &[u8],
    public_key_pem: &[u8],
) -> Result<Vec<u8>, ProtocolError> {
    let key = public_key(public_key_pem)?;
    if scramble.is_empty() {
        return Err(ProtocolError::Truncated("nonce"));
    }
    let masked: Vec<u8> = clear(password)
        .iter()
        .zip(scramble.iter().cycle())
        .map(|(byte, mask)| byte ^ mask)
        .collect();
    key.encrypt(
        &mut rsa::rand_core::OsRng,
        rsa::Oaep::new::<Sha1>(),
        &masked,
    )
    .map_err(|error| ProtocolError::Authentication(format!("encrypting the password: {error}")))
}

/// Checks that this is an RSA public key (PEM).
pub fn check_public_key(pem: &[u8]) -> Result<(), ProtocolError> {
    public_key(pem).map(drop)
}

fn public_key(pem: &[u8]) -> Result<rsa::RsaPublicKey, ProtocolError> {
    let pem = String::from_utf8_lossy(pem);
    rsa::RsaPublicKey::from_public_key_pem(pem.trim_end_matches('\0').trim())
        .map_err(|error| ProtocolError::Authentication(format!("not an RSA public key: {error}")))
}
