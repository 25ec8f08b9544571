//! From the first byte to the first ReadyForQuery: TLS, startup, authentication.

use md5::{Digest, Md5};

use super::message::{self, HEADER_BYTES, Header, Message, put_text};
use super::parse_error;
use crate::fields::Fields;
use crate::{ProtocolError, ServerError};

const PROTOCOL_3_0: u32 = 3 << 16;
/// A number that no version of the protocol has.
const SSL_REQUEST: u32 = 1234 << 16 | 5679;
/// The server's answer to the request if it supports TLS.
pub const TLS_ACCEPTED: u8 = b'S';
pub const TLS_REFUSED: u8 = b'N';

/// Requests TLS; the server answers with one byte.
pub fn request_tls(out: &mut Vec<u8>) {
    message::write_untyped(out, |out| {
        out.extend_from_slice(&SSL_REQUEST.to_be_bytes());
    });
}

/// Whether a stream that begins with these bytes may be a PostgreSQL server's answer to a
/// startup message: an authentication request, an error, or a notice of plausible length.
pub fn may_be_postgres(first_bytes: &[u8]) -> bool {
    /// As libpq's limit for an error during the startup.
    const MAX_FIRST_BYTES: usize = 30_000;
    let kind = first_bytes.first().copied().unwrap_or(b'R');
    let length = match first_bytes.first_chunk::<HEADER_BYTES>() {
        Some(header) => Header::parse(*header).map_or(usize::MAX, |header| header.length),
        None => 0,
    };
    matches!(kind, b'R' | b'E' | b'N' | b'v') && length <= MAX_FIRST_BYTES
}

/// The error for a peer that is not a PostgreSQL server, judged by its first bytes.
pub fn not_postgres(first_bytes: &[u8]) -> ProtocolError {
    ProtocolError::other_protocol("PostgreSQL", first_bytes)
}

/// Begins the connection with these parameters (`user`, `database`, …).
pub fn start(out: &mut Vec<u8>, parameters: &[(&str, &str)]) {
    message::write_untyped(out, |out| {
        out.extend_from_slice(&PROTOCOL_3_0.to_be_bytes());
        for (name, value) in parameters {
            put_text(out, name);
            put_text(out, value);
        }
        out.push(0);
    });
}

/// Answers a request for a password: with the password itself, or with its [`md5_proof`].
pub fn password(out: &mut Vec<u8>, password: &str) {
    message::write(out, b'p', |out| put_text(out, password));
}

pub fn sasl_first(out: &mut Vec<u8>, mechanism: &str, data: &[u8]) {
    message::write(out, b'p', |out| {
        put_text(out, mechanism);
        let length = i32::try_from(data.len()).unwrap_or(i32::MAX);
        out.extend_from_slice(&length.to_be_bytes());
        out.extend_from_slice(data);
    });
}

pub fn sasl_next(out: &mut Vec<u8>, data: &[u8]) {
    message::write(out, b'p', |out| out.extend_from_slice(data));
}

/// The answer to an md5 request; it does not reveal the password.
pub fn md5_proof(user: &str, password: &str, salt: [u8; 4]) -> String {
    let stored = md5_hex(&[password.as_bytes(), user.as_bytes()]);
    format!("md5{}", md5_hex(&[stored.as_bytes(), &salt]))
}

fn md5_hex(parts: &[&[u8]]) -> String {
    let mut hash = Md5::new();
    parts.iter().for_each(|part| hash.update(part));
    let digest = hash.finalize();
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The server's messages between the startup and the first ReadyForQuery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// It requests authentication, or accepts it.
    Authentication(Authentication),
    /// It reports a setting (`server_version`, …).
    Parameter {
        name: String,
        value: String,
    },
    /// The process that serves this connection.
    Backend {
        /// Its process ID, for `pg_terminate_backend`.
        pid: u32,
    },
    Ready,
    Refused(Box<ServerError>),
    /// A message that changes nothing here: a notice, or an offer of an older protocol.
    Other,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Authentication {
    /// Nothing more.
    Ok,
    Cleartext,
    /// A proof with this salt.
    Md5([u8; 4]),
    /// SASL by one of these mechanisms.
    Sasl(Vec<String>),
    /// The next step of a SASL exchange.
    SaslContinue(Vec<u8>),
    /// The last step of a SASL exchange.
    SaslFinal(Vec<u8>),
}

impl Next {
    pub fn parse(message: &Message) -> Result<Self, ProtocolError> {
        let payload = message.payload.as_slice();
        Ok(match message.kind {
            b'R' => Self::Authentication(Authentication::parse(payload)?),
            b'E' => Self::Refused(Box::new(parse_error(payload)?)),
            b'S' => {
                let mut fields = Fields::new(payload, "parameter status");
                let (name, value) = (fields.text()?, fields.text()?);
                Self::Parameter { name, value }
            }
            b'K' => {
                let pid = Fields::new(payload, "backend key").u32_be()?;
                Self::Backend { pid }
            }
            b'Z' => Self::Ready,
            b'N' | b'v' => Self::Other,
            kind => return Err(ProtocolError::unexpected(kind, "during the login")),
        })
    }
}

impl Authentication {
    fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        let mut fields = Fields::new(payload, "authentication request");
        let unknown = |name: &str| Err(unsupported(name.to_owned()));
        Ok(match fields.u32_be()? {
            0 => Self::Ok,
            2 => return unknown("Kerberos"),
            3 => Self::Cleartext,
            5 => Self::Md5(fields.array()?),
            7 => return unknown("GSSAPI"),
            9 => return unknown("SSPI"),
            10 => Self::Sasl(mechanisms(fields)?),
            11 => Self::SaslContinue(fields.rest().to_vec()),
            12 => Self::SaslFinal(fields.rest().to_vec()),
            number => return unknown(&format!("method {number}")),
        })
    }
}

/// The error for an authentication method that dyno does not support.
pub fn unsupported(method: String) -> ProtocolError {
    let supported = "SCRAM-SHA-256, md5, password and certificates";
    ProtocolError::UnknownMethod { method, supported }
}

fn mechanisms(mut fields: Fields<'_>) -> Result<Vec<String>, ProtocolError> {
    let mut names = Vec::new();
    loop {
        match fields.text()? {
            name if name.is_empty() => return Ok(names),
            name => names.push(name),
        }
    }
}
