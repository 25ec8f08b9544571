//! Each plugin's answer, against the oracle's and against known ones.

use crate::common;
use ed25519_dalek::{Signature, VerifyingKey};
use mysql_common::auth::plugins::{
    ChallengeResponsePlugin, Context, caching_sha2_password::scramble_sha256,
    client_ed25519::ClientEd25519, mysql_native_password::scramble_native,
};
use proptest::collection::vec;
use proptest::prelude::*;
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use wire::mysql::auth::{self, CACHING_SHA2, CLEAR, ED25519, NATIVE, SHA256};

/// A nonce and a password whose answers are published.
const NONCE: &[u8; 20] = b"NR3HP:qIYa_9=db?Sd{`";
const PASSWORD: &str = "G!ider27";

/// What the oracle wants to know of the connection.
struct Password<'a>(&'a str);

impl Context for Password<'_> {
    fn pass(&self) -> &[u8] {
        self.0.as_bytes()
    }
    fn is_ipc_transport(&self) -> bool {
        false
    }
    fn is_tls_transport(&self) -> bool {
        false
    }
    fn scramble(&self) -> &[u8] {
        &[]
    }
    fn server_key_pem(&self) -> Option<&[u8]> {
        None
    }
}

fn answer(plugin: &str, password: &str, nonce: &[u8]) -> Vec<u8> {
    let answer = auth::first_answer(plugin, password, nonce).unwrap();
    answer.unwrap_or_else(|| panic!("{plugin} asks for the password itself"))
}

fn hex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn known_answers() {
    let expected = hex("09cff8855e9e705340ff2270d8fb9fadba906b70");
    assert_eq!(answer(NATIVE, PASSWORD, NONCE), expected);
    let expected = hex("4f97bbfd202401c42a69deaae53bda077ed7578563c1a80eb816c82119b68d2e");
    assert_eq!(answer(CACHING_SHA2, PASSWORD, NONCE), expected);
}

/// MariaDB's manual gives the public key of the password `secret`.
#[test]
fn an_ed25519_answer_is_signed_with_the_key_that_mariadb_stores() {
    let stored = hex("648814444520e4f56043a2ec9215e63be7992d2d270bc6dee873e36164786096");
    let key = VerifyingKey::from_bytes(stored.as_slice().try_into().unwrap()).unwrap();
    let nonce = [7; 32];
    let signature = answer(ED25519, "secret", &nonce);
    let signature = Signature::from_slice(&signature).unwrap();
    key.verify_strict(&nonce, &signature).unwrap();
}

#[test]
fn an_empty_password_is_an_empty_answer() {
    for plugin in [NATIVE, CACHING_SHA2] {
        assert!(answer(plugin, "", NONCE).is_empty());
    }
}

#[test]
fn plugins_that_take_the_password_itself_get_no_answer_here() {
    for plugin in [CLEAR, SHA256] {
        let first = auth::first_answer(plugin, "p", NONCE).unwrap();
        assert_eq!(first, None, "{plugin}");
        assert_eq!(answer(plugin, "", NONCE), [0], "{plugin}");
    }
}

#[test]
fn an_unknown_plugin_is_named() {
    let error = auth::first_answer("parsec", "p", NONCE).unwrap_err();
    assert!(error.to_string().contains("\"parsec\""), "{error}");
}

#[test]
fn the_servers_key_opens_what_it_closed() {
    let mut rng = rsa::rand_core::OsRng;
    let private = rsa::RsaPrivateKey::new(&mut rng, 1024).unwrap();
    let public = private.to_public_key();
    let pem = public.to_public_key_pem(LineEnding::LF).unwrap();
    // 85 bytes and the zero behind them are the most that such a key takes.
    let longest = "p".repeat(85);
    for password in ["", "p", "grüße", &longest] {
        let closed = auth::encrypt_password(password, NONCE, pem.as_bytes()).unwrap();
        let mut opened = private
            .decrypt(rsa::Oaep::new::<sha1::Sha1>(), &closed)
            .unwrap();
        for (byte, mask) in opened.iter_mut().zip(NONCE.iter().cycle()) {
            *byte ^= mask;
        }
        assert_eq!(opened, auth::clear(password));
    }
    assert!(auth::encrypt_password(&"p".repeat(86), NONCE, pem.as_bytes()).is_err());
    assert!(auth::encrypt_password("p", &[], pem.as_bytes()).is_err());
    assert!(auth::encrypt_password("p", NONCE, b"no key").is_err());
    auth::check_public_key(pem.as_bytes()).unwrap();
    assert!(auth::check_public_key(b"no key").is_err());
}

proptest! {
    #![proptest_config(common::cases(256))]

    #[test]
    fn answers_are_the_oracles(password in ".{1,80}", nonce: [u8; 20], long_nonce: [u8; 32]) {
        let bytes = password.as_bytes();
        prop_assert_eq!(answer(NATIVE, &password, &nonce), scramble_native(&nonce, bytes).unwrap());
        prop_assert_eq!(answer(CACHING_SHA2, &password, &nonce), scramble_sha256(&nonce, bytes).unwrap());
        let oracle = ClientEd25519::default().run(Password(&password), &long_nonce).unwrap();
        prop_assert_eq!(answer(ED25519, &password, &long_nonce), oracle.data().unwrap());
    }

    #[test]
    fn no_key_is_trusted_blindly(key in vec(any::<u8>(), 0..600), nonce in vec(any::<u8>(), 0..40)) {
        let _ = auth::encrypt_password("secret", &nonce, &key);
    }
}
