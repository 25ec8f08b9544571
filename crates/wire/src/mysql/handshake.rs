//! The handshake: the server's greeting, the client's response, and authentication.

use super::{capability, lenenc, packet, parse_error};
use crate::fields::Fields;
use crate::{ProtocolError, ServerError};

/// utf8mb4_general_ci, which every server since 5.5 has.
const CHARSET_UTF8MB4: u8 = 45;
/// Longest message that the client accepts: 1 GiB, the protocol's own limit.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;
/// Bytes of a nonce, without the zero that follows it.
const SCRAMBLE_BYTES: usize = 20;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    pub version: String,
    pub connection_id: u32,
    /// The server's capabilities; MariaDB's own flags start at bit 32.
    pub capabilities: u64,
    pub scramble: Vec<u8>,
    pub plugin: String,
}

impl Greeting {
    pub fn parse(payload: &[u8]) -> Result<Result<Self, ServerError>, ProtocolError> {
        let mut fields = Fields::new(payload, "greeting");
        match fields.u8()? {
            0xff => return parse_error(payload).map(Err),
            10 => {}
            _ => return Err(not_mysql(payload)),
        }
        let version = text(&mut fields);
        let connection_id = fields.u32_le()?;
        let mut scramble = fields.bytes(8)?.to_vec();
        fields.bytes(1)?;
        let low = fields.u16_le()?;
        let (_charset, _status) = (fields.u8()?, fields.u16_le()?);
        let high = fields.u16_le()?;
        let mut capabilities = u64::from(low) | u64::from(high) << 16;
        if capabilities & capability::PROTOCOL_41 == 0
            || capabilities & capability::PLUGIN_AUTH == 0
        {
            return Err(ProtocolError::TooOld("authentication plugins (MySQL 5.5)"));
        }
        let scramble_length = usize::from(fields.u8()?);
        fields.bytes(6)?;
        let extended = fields.u32_le()?;
        if capabilities & capability::MYSQL == 0 {
            capabilities |= u64::from(extended) << 32;
        }
        // The second part has at least 13 bytes, the last of which is zero.
        let second = fields.bytes(scramble_length.saturating_sub(8).max(13))?;
        scramble.extend_from_slice(second);
        scramble.truncate(SCRAMBLE_BYTES);
        let plugin = text(&mut fields);
        Ok(Ok(Self {
            version,
            connection_id,
            capabilities,
            scramble,
            plugin,
        }))
    }

    pub fn offers_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }

    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }
}

/// Whether a stream that begins with these bytes may come from a MySQL server: a low sequence
/// number, then a greeting or an error.
pub fn may_be_mysql(first_bytes: &[u8]) -> bool {
    let number = first_bytes.get(3).copied().unwrap_or(0);
    let first = first_bytes.get(4).copied().unwrap_or(10);
    number < 2 && matches!(first, 9 | 10 | 0xff)
}

/// The error for a peer that is not a MySQL server, judged by its first bytes.
pub fn not_mysql(first_bytes: &[u8]) -> ProtocolError {
    ProtocolError::other_protocol("MySQL", first_bytes)
}

/// The text up to a zero byte, or to the end if there is none.
fn text(fields: &mut Fields<'_>) -> String {
    let bytes = fields
        .bytes_until_nul()
        .or_else(|_| fields.bytes(fields.rest().len()));
    String::from_utf8_lossy(bytes.unwrap_or_default()).into_owned()
}

#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    pub user: &'a str,
    /// The default database; empty for none.
    pub database: &'a str,
    pub tls: bool,
}

impl Login<'_> {
    /// The capabilities that both sides support and dyno uses.
    pub fn capabilities(&self, greeting: &Greeting) -> u64 {
        let mut wanted = capability::FOUND_ROWS
            | capability::LONG_FLAG
            | capability::LOCAL_FILES
            | capability::PROTOCOL_41
            | capability::TRANSACTIONS
            | capability::SECURE_CONNECTION
            | capability::MULTI_RESULTS
            | capability::PS_MULTI_RESULTS
            | capability::PLUGIN_AUTH
            | capability::PLUGIN_AUTH_LENENC_DATA
            | capability::DEPRECATE_EOF
            | capability::CACHE_METADATA;
        if !self.database.is_empty() {
            wanted |= capability::CONNECT_WITH_DB;
        }
        if self.tls {
            wanted |= capability::SSL;
        }
        wanted & greeting.capabilities
    }

    /// Requests TLS; the connection then continues under it.
    pub fn tls_request(&self, out: &mut Vec<u8>, sequence: u8, greeting: &Greeting) -> u8 {
        packet::write(out, sequence, |out| self.put_fixed(out, greeting))
    }

    /// Responds to the greeting, with the plugin's first data.
    pub fn response(
        &self,
        out: &mut Vec<u8>,
        sequence: u8,
        greeting: &Greeting,
        plugin: &str,
        auth: &[u8],
    ) -> u8 {
        let capabilities = self.capabilities(greeting);
        packet::write(out, sequence, |out| {
            self.put_fixed(out, greeting);
            out.extend_from_slice(self.user.as_bytes());
            out.push(0);
            if capabilities & capability::PLUGIN_AUTH_LENENC_DATA != 0 {
                lenenc::put_bytes(out, auth);
            } else {
                // Every first response is shorter than 256 bytes.
                out.push(auth.len() as u8);
                out.extend_from_slice(auth);
            }
            if capabilities & capability::CONNECT_WITH_DB != 0 {
                out.extend_from_slice(self.database.as_bytes());
                out.push(0);
            }
            out.extend_from_slice(plugin.as_bytes());
            out.push(0);
        })
    }

    fn put_fixed(&self, out: &mut Vec<u8>, greeting: &Greeting) {
        let capabilities = self.capabilities(greeting).to_le_bytes();
        let (base, extended) = capabilities.split_at(4);
        out.extend_from_slice(base);
        out.extend_from_slice(&MAX_MESSAGE_BYTES.to_le_bytes());
        out.push(CHARSET_UTF8MB4);
        out.extend_from_slice(&[0; 19]);
        out.extend_from_slice(extended);
    }
}

/// The server's next message after the client's response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    Ready,
    /// The account uses another plugin: start over with this nonce.
    Switch {
        plugin: String,
        scramble: Vec<u8>,
    },
    /// Data for the current plugin.
    More(Vec<u8>),
    Refused(ServerError),
}

impl Next {
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        match payload {
            [0x00, ..] => Ok(Self::Ready),
            [0xff, ..] => parse_error(payload).map(Self::Refused),
            [0x01, data @ ..] => Ok(Self::More(data.to_vec())),
            [0xfe] => Err(ProtocolError::TooOld("4.1 passwords")),
            [0xfe, rest @ ..] => {
                let mut fields = Fields::new(rest, "authentication switch");
                let plugin = text(&mut fields);
                let scramble = match fields.rest() {
                    // The hashing plugins' nonce is terminated by a zero; a nonce of another
                    // length may itself end with one.
                    [scramble @ .., 0] if scramble.len() == SCRAMBLE_BYTES => scramble,
                    scramble => scramble,
                };
                Ok(Self::Switch {
                    plugin,
                    scramble: scramble.to_vec(),
                })
            }
            [first, ..] => Err(ProtocolError::unexpected(*first, "during authentication")),
            [] => Err(ProtocolError::Truncated("authentication")),
        }
    }
}
