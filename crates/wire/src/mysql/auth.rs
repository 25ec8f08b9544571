//! What each authentication plugin answers to the server's nonce.

use ed25519_dalek::VerifyingKey;
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use rsa::pkcs8::DecodePublicKey;
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};

use super::ProtocolError;

/// MySQL before 8, and MariaDB.
pub const NATIVE: &str = "mysql_native_password";
/// MySQL since 8.
pub const CACHING_SHA2: &str = "caching_sha2_password";
/// The same without the fast path. MySQL also asks for it when it does not know
/// the account, so that nobody learns which accounts there are.
pub const SHA256: &str = "sha256_password";
/// MariaDB's choice for new accounts.
pub const ED25519: &str = "client_ed25519";
/// The password in clear text.
pub const CLEAR: &str = "mysql_clear_password";

/// The plugins that dyno knows, for messages.
pub(super) const KNOWN: &str = "mysql_native_password, caching_sha2_password, sha256_password, client_ed25519 and mysql_clear_password";

/// caching_sha2_password: the server knows the password's hash; it will say OK.
pub const FAST_PATH_OK: u8 = 3;
/// caching_sha2_password: the server needs the password itself.
pub const FULL_PATH: u8 = 4;
/// caching_sha2_password: asks for the server's RSA key.
pub const REQUEST_PUBLIC_KEY: u8 = 2;
/// sha256_password: asks for the server's RSA key.
pub const REQUEST_PUBLIC_KEY_SHA256: u8 = 1;

/// What a plugin answers to the server's nonce.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FirstAnswer {
    /// A proof from which nobody can read the password.
    Proof(Vec<u8>),
    /// The password itself. Whether the server may have it is for the caller to decide.
    Password,
}

/// The first answer of `plugin` to the nonce `scramble`.
///
/// # Errors
/// When the plugin is unknown.
pub fn first_answer(
    plugin: &str,
    password: &str,
    scramble: &[u8],
) -> Result<FirstAnswer, ProtocolError> {
    let proof = match plugin {
        NATIVE | CACHING_SHA2 if password.is_empty() => Vec::new(),
        NATIVE => native(password.as_bytes(), scramble).to_vec(),
        CACHING_SHA2 => caching_sha2(password.as_bytes(), scramble).to_vec(),
        ED25519 => ed25519(password.as_bytes(), scramble).to_vec(),
        SHA256 | CLEAR if password.is_empty() => clear(password),
        SHA256 | CLEAR => return Ok(FirstAnswer::Password),
        other => return Err(ProtocolError::UnknownPlugin(other.to_owned())),
    };
    Ok(FirstAnswer::Proof(proof))
}

/// The password and a zero byte: how every plugin sends it in clear.
#[must_use]
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

/// MariaDB's ed25519: the secret key is SHA512 of the password itself (of any
/// length), not of a 32-byte seed.
fn ed25519(password: &[u8], scramble: &[u8]) -> [u8; 64] {
    let hash: [u8; 64] = Sha512::digest(password).into();
    let key = ExpandedSecretKey::from_bytes(&hash);
    let public = VerifyingKey::from(&key);
    raw_sign::<Sha512>(&key, scramble, &public).to_bytes()
}

/// The password under the server's public key (PEM), as caching_sha2_password's
/// full path without TLS sends it: XOR with the nonce, then RSA-OAEP with SHA-1.
///
/// # Errors
/// When the key is none, or too short for the password.
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
    .map_err(|error| ProtocolError::Auth(format!("encrypting the password: {error}")))
}

/// Makes sure that this is an RSA public key (PEM).
///
/// # Errors
/// When it is none.
pub fn check_public_key(pem: &[u8]) -> Result<(), ProtocolError> {
    public_key(pem).map(drop)
}

fn public_key(pem: &[u8]) -> Result<rsa::RsaPublicKey, ProtocolError> {
    let pem = String::from_utf8_lossy(pem);
    rsa::RsaPublicKey::from_public_key_pem(pem.trim_end_matches('\0').trim())
        .map_err(|error| ProtocolError::Auth(format!("not an RSA public key: {error}")))
}
