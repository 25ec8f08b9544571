//! SCRAM-SHA-256 and SCRAM-SHA-256-PLUS (RFC 5802, RFC 7677), as PostgreSQL uses them.

use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ring::{digest, hmac, pbkdf2};

use crate::ProtocolError;
use crate::error::check_length;

pub const SCRAM_SHA_256: &str = "SCRAM-SHA-256";
pub const SCRAM_SHA_256_PLUS: &str = "SCRAM-SHA-256-PLUS";

/// Most iterations that a server may demand: PostgreSQL's default is 4,096, and more than
/// this would keep a worker busy for over a second.
const MAX_ITERATIONS: u32 = 1_000_000;
/// Longest message of the server that is accepted.
const MAX_MESSAGE_BYTES: usize = 8192;
const KEY_BYTES: usize = 32;
const ITERATIONS: NonZeroU32 = NonZeroU32::new(4096).unwrap();

/// Whether the exchange is bound to the TLS connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChannelBinding {
    /// The client cannot bind, as there is no TLS.
    Unsupported,
    /// The client could, but the server does not offer it. A server that does offer it
    /// then knows that somebody removed the offer, and refuses.
    NotOffered,
    /// To this hash of the server's certificate ([`super::certificate::end_point`]).
    EndPoint(Vec<u8>),
}

impl ChannelBinding {
    /// The mechanism that it asks for.
    pub fn mechanism(&self) -> &'static str {
        match self {
            Self::Unsupported | Self::NotOffered => SCRAM_SHA_256,
            Self::EndPoint(_) => SCRAM_SHA_256_PLUS,
        }
    }

    fn gs2_header(&self) -> &'static str {
        match self {
            Self::Unsupported => "n,,",
            Self::NotOffered => "y,,",
            Self::EndPoint(_) => "p=tls-server-end-point,,",
        }
    }

    /// The header and the data, which the proof covers.
    fn input(&self) -> Vec<u8> {
        let mut input = self.gs2_header().as_bytes().to_vec();
        if let Self::EndPoint(data) = self {
            input.extend_from_slice(data);
        }
        input
    }
}

/// An exchange that waits for the server's first message.
#[derive(Debug)]
pub struct Scram {
    binding: ChannelBinding,
    /// The client's first message without its header.
    first_bare: String,
    nonce: String,
}

/// An exchange whose proof was sent: the server has to prove that it knows the password, too.
#[derive(Debug)]
pub struct Proven {
    server_key: hmac::Key,
    signed: String,
}

impl Scram {
    /// Begins an exchange. `nonce` is printable ASCII without a comma, and never used twice.
    pub fn new(nonce: &str, binding: ChannelBinding) -> Self {
        Self {
            binding,
            // PostgreSQL knows the user from the startup message.
            first_bare: format!("n=,r={nonce}"),
            nonce: nonce.to_owned(),
        }
    }

    pub fn first(&self) -> Vec<u8> {
        format!("{}{}", self.binding.gs2_header(), self.first_bare).into_bytes()
    }

    /// The client's final message, in answer to the server's first.
    pub fn prove(self, password: &str, first: &[u8]) -> Result<(Vec<u8>, Proven), ProtocolError> {
        let first = text(first)?;
        let challenge = Challenge::parse(first, &self.nonce)?;
        let salted = salted(password, &challenge.salt, challenge.iterations);
        let without_proof = format!(
            "c={},r={}",
            BASE64.encode(self.binding.input()),
            challenge.nonce
        );
        let signed = format!("{},{first},{without_proof}", self.first_bare);
        let client_key = hmac::sign(&salted, b"Client Key");
        let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
        let stored_key = hmac::Key::new(hmac::HMAC_SHA256, stored_key.as_ref());
        let signature = hmac::sign(&stored_key, signed.as_bytes());
        let proof: Vec<u8> = client_key
            .as_ref()
            .iter()
            .zip(signature.as_ref())
            .map(|(key, signature)| key ^ signature)
            .collect();
        let answer = format!("{without_proof},p={}", BASE64.encode(proof));
        let server_key = hmac::sign(&salted, b"Server Key");
        let server_key = hmac::Key::new(hmac::HMAC_SHA256, server_key.as_ref());
        Ok((answer.into_bytes(), Proven { server_key, signed }))
    }
}

impl Proven {
    pub fn verify(&self, last: &[u8]) -> Result<(), ProtocolError> {
        let last = text(last)?;
        if let Some(error) = last.strip_prefix("e=") {
            return Err(failed(&format!("the server reports {error:?}")));
        }
        let signature = last.strip_prefix("v=").and_then(|signature| {
            let (signature, _extensions) = signature.split_once(',').unwrap_or((signature, ""));
            BASE64.decode(signature).ok()
        });
        let signature = signature.ok_or_else(|| failed("the server's proof is malformed"))?;
        hmac::verify(&self.server_key, self.signed.as_bytes(), &signature).map_err(|_| {
            failed("the server did not prove that it knows the password; it may be an impostor")
        })
    }
}

struct Challenge<'a> {
    nonce: &'a str,
    salt: Vec<u8>,
    iterations: NonZeroU32,
}

impl<'a> Challenge<'a> {
    fn parse(text: &'a str, client_nonce: &str) -> Result<Self, ProtocolError> {
        let malformed = || failed("the server's challenge is malformed");
        let mut attributes = text.split(',');
        let mut next = |name| attributes.next().and_then(|part| part.strip_prefix(name));
        let nonce: &str = next("r=").ok_or_else(malformed)?;
        let salt = next("s=").and_then(|salt| BASE64.decode(salt).ok());
        let iterations = next("i=").and_then(|count| count.parse::<NonZeroU32>().ok());
        let (Some(salt), Some(iterations)) = (salt, iterations) else {
            return Err(malformed());
        };
        if !nonce.starts_with(client_nonce) || nonce.len() == client_nonce.len() {
            return Err(failed("the server's nonce does not extend the client's"));
        }
        if iterations.get() > MAX_ITERATIONS {
            return Err(failed(&format!(
                "the server demands {iterations} SCRAM iterations; at most {MAX_ITERATIONS} are accepted"
            )));
        }
        Ok(Self {
            nonce,
            salt,
            iterations,
        })
    }
}

/// What a server stores of a password, which it accepts in place of one.
pub fn verifier(password: &str, salt: &[u8]) -> String {
    let salted = salted(password, salt, ITERATIONS);
    let client_key = hmac::sign(&salted, b"Client Key");
    let stored_key = digest::digest(&digest::SHA256, client_key.as_ref());
    let server_key = hmac::sign(&salted, b"Server Key");
    let [salt, stored_key, server_key] =
        [salt, stored_key.as_ref(), server_key.as_ref()].map(|bytes| BASE64.encode(bytes));
    format!("{SCRAM_SHA_256}${ITERATIONS}:{salt}${stored_key}:{server_key}")
}

fn salted(password: &str, salt: &[u8], iterations: NonZeroU32) -> hmac::Key {
    // A password that SASLprep does not allow is used as it is, as PostgreSQL does.
    let prepared = stringprep::saslprep(password).unwrap_or(password.into());
    let mut salted = [0; KEY_BYTES];
    pbkdf2::derive(
        pbkdf2::PBKDF2_HMAC_SHA256,
        iterations,
        salt,
        prepared.as_bytes(),
        &mut salted,
    );
    hmac::Key::new(hmac::HMAC_SHA256, &salted)
}

fn text(message: &[u8]) -> Result<&str, ProtocolError> {
    check_length(message.len(), MAX_MESSAGE_BYTES)?;
    str::from_utf8(message).map_err(|_| failed("the server's message is not text"))
}

fn failed(why: &str) -> ProtocolError {
    ProtocolError::Authentication(why.to_owned())
}
