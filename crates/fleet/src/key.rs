//! The key with which a coordinator signs what its agents run, and what an agent knows of it.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use plan::Failure;
use ring::rand::{SecureRandom, SystemRandom};
use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};
use serde::Serialize;
use serde::de::DeserializeOwned;

const SEED_BYTES: usize = 32;
const SIGNATURE_BYTES: usize = 64;

/// The coordinator's key. Does not implement `Debug`, so that nothing prints it.
pub struct SigningKey(Ed25519KeyPair);

/// What proves that something was signed with a certain [`SigningKey`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey(Vec<u8>);

impl SigningKey {
    /// A new key, and the text from which [`SigningKey::parse`] makes it again.
    pub fn generate() -> Result<(Self, String), Failure> {
        let seed: [u8; SEED_BYTES] = random()?;
        let key = Ed25519KeyPair::from_seed_unchecked(&seed).map_err(Failure::internal)?;
        Ok((Self(key), BASE64_STANDARD.encode(seed)))
    }

    pub fn parse(text: &str) -> Result<Self, Failure> {
        let seed = BASE64_STANDARD.decode(text.trim()).ok();
        let key = seed.and_then(|seed| Ed25519KeyPair::from_seed_unchecked(&seed).ok());
        let bad = || Failure::usage("this is not the key of a coordinator");
        key.map(Self).ok_or_else(bad)
    }

    pub fn public(&self) -> PublicKey {
        PublicKey(self.0.public_key().as_ref().to_vec())
    }

    /// A signed message; `purpose` keeps it from being taken for another kind of message.
    pub(crate) fn seal(&self, purpose: &str, message: &impl Serialize) -> Vec<u8> {
        // Only maps with keys that are no text cannot be written.
        let text = serde_json::to_vec(message).unwrap_or_default();
        let signature = self.0.sign(&signed(purpose, &text));
        [signature.as_ref(), &text].concat()
    }
}

impl PublicKey {
    pub fn parse(text: &str) -> Result<Self, Failure> {
        let bytes = BASE64_STANDARD.decode(text.trim()).ok();
        let bytes = bytes.filter(|bytes| bytes.len() == ED25519_KEY_BYTES);
        let bad = || {
            let remedy = "`dyno agents` shows it on the machine that runs studies";
            Failure::usage("this is not a coordinator's public key").remedy(remedy)
        };
        bytes.map(Self).ok_or_else(bad)
    }

    /// Reads a message if it was signed with the key, for this `purpose`.
    pub(crate) fn open<T: DeserializeOwned>(&self, purpose: &str, sealed: &[u8]) -> Option<T> {
        let (signature, text) = sealed.split_at_checked(SIGNATURE_BYTES)?;
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        key.verify(&signed(purpose, text), signature).ok()?;
        serde_json::from_slice(text).ok()
    }
}

const ED25519_KEY_BYTES: usize = 32;

impl std::fmt::Display for PublicKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&BASE64_STANDARD.encode(&self.0))
    }
}

fn signed(purpose: &str, text: &[u8]) -> Vec<u8> {
    [b"dyno ", purpose.as_bytes(), b"\n", text].concat()
}

/// A name that nobody else has, and nobody can guess.
pub fn unique() -> Result<String, Failure> {
    let bytes: [u8; 8] = random()?;
    Ok(format!("{:016x}", u64::from_be_bytes(bytes)))
}

pub(crate) fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::internal("the system gives no random numbers"))?;
    Ok(bytes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_signed_with_the_key_for_the_purpose_is_read() {
        let (key, text) = SigningKey::generate().unwrap();
        let public = PublicKey::parse(&key.public().to_string()).unwrap();
        let mut sealed = SigningKey::parse(&text).unwrap().seal("order", &17);
        assert_eq!(public.open("order", &sealed), Some(17));
        assert_eq!(public.open::<u32>("control", &sealed), None);
        let (other, _) = SigningKey::generate().unwrap();
        assert_eq!(other.public().open::<u32>("order", &sealed), None);
        *sealed.last_mut().unwrap() ^= 1;
        assert_eq!(public.open::<u32>("order", &sealed), None);
        assert_eq!(public.open::<u32>("order", &sealed[..20]), None);
    }

    #[test]
    fn bad_keys_are_refused() {
        for bad in ["", "x", "AAAA"] {
            assert!(PublicKey::parse(bad).is_err() && SigningKey::parse(bad).is_err());
        }
    }
}
