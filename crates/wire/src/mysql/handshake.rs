//! The handshake: the server's greeting, the client's answer, and what follows.

use super::read::Fields;
use super::{ProtocolError, ServerError, capability, command, packet};

/// utf8mb4_general_ci, which every server since 5.5 has.
const CHARSET_UTF8MB4: u8 = 45;
/// Longest message that is taken: 1 GiB, the protocol's own limit.
const MAX_MESSAGE_BYTES: u32 = 1 << 30;
/// The bytes of a scramble, without the zero behind them.
const SCRAMBLE_BYTES: usize = 20;

/// What the server says first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Greeting {
    /// The server's version as it names itself.
    pub version: String,
    /// The connection's number, for `KILL`.
    pub connection_id: u32,
    /// What the server can do; MariaDB's own flags from bit 32 on.
    pub capabilities: u64,
    /// The nonce of the authentication.
    pub scramble: Vec<u8>,
    /// The authentication that the server would like.
    pub plugin: String,
}

impl Greeting {
    /// Reads the first message of a server.
    ///
    /// # Errors
    /// The server's refusal (too many connections, host blocked) as the inner
    /// error; [`ProtocolError`] when it is no MySQL server of 4.1 or later.
    pub fn parse(payload: &[u8]) -> Result<Result<Self, ServerError>, ProtocolError> {
        let mut fields = Fields::new(payload, "greeting");
        match fields.u8()? {
            0xff => return ServerError::parse(payload).map(Err),
            10 => {}
            _ => return Err(not_mysql(payload)),
        }
        let version = String::from_utf8_lossy(fields.until_nul()).into_owned();
        let connection_id = fields.u32()?;
        let mut scramble = fields.bytes(8)?.to_vec();
        fields.bytes(1)?;
        let low = fields.u16()?;
        let (_charset, _status) = (fields.u8()?, fields.u16()?);
        let high = fields.u16()?;
        let mut capabilities = u64::from(low) | u64::from(high) << 16;
        if capabilities & capability::PROTOCOL_41 == 0
            || capabilities & capability::PLUGIN_AUTH == 0
        {
            return Err(ProtocolError::TooOld("authentication plugins (MySQL 5.5)"));
        }
        let scramble_length = usize::from(fields.u8()?);
        fields.bytes(6)?;
        let extended = fields.u32()?;
        if capabilities & capability::MYSQL == 0 {
            capabilities |= u64::from(extended) << 32;
        }
        // The second part is at least 13 bytes, the last of which is a zero.
        let second = fields.bytes(scramble_length.saturating_sub(8).max(13))?;
        scramble.extend_from_slice(second);
        scramble.truncate(SCRAMBLE_BYTES);
        let plugin = String::from_utf8_lossy(fields.until_nul()).into_owned();
        Ok(Ok(Self {
            version,
            connection_id,
            capabilities,
            scramble,
            plugin,
        }))
    }

    /// Whether the server can go on under TLS.
    #[must_use]
    pub fn offers_tls(&self) -> bool {
        self.capabilities & capability::SSL != 0
    }

    /// MariaDB prefixes its version for the sake of old replicas.
    #[must_use]
    pub fn is_mariadb(&self) -> bool {
        self.version.contains("MariaDB")
    }
}

/// Whether a server's stream that begins with these bytes may be one of MySQL's:
/// a low packet number, then a greeting or an error.
#[must_use]
pub fn may_be_mysql(first_bytes: &[u8]) -> bool {
    let number = first_bytes.get(3).copied().unwrap_or(0);
    let first = first_bytes.get(4).copied().unwrap_or(10);
    number < 2 && matches!(first, 9 | 10 | 0xff)
}

/// A peer that is no MySQL server, named by its first bytes.
#[must_use]
pub fn not_mysql(first_bytes: &[u8]) -> ProtocolError {
    let shown = &first_bytes[..first_bytes.len().min(24)];
    ProtocolError::NotMysql(String::from_utf8_lossy(shown).into_owned())
}

/// What the client wants of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The account's name.
    pub user: &'a str,
    /// The default database; empty for none.
    pub database: &'a str,
    /// Whether the connection goes on under TLS.
    pub tls: bool,
}

impl Login<'_> {
    /// The capabilities that both sides have and dyno uses.
    #[must_use]
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

    /// The short message after which the connection goes on under TLS.
    pub fn tls_request(&self, out: &mut Vec<u8>, sequence: u8, greeting: &Greeting) -> u8 {
        packet::write(out, sequence, |out| self.put_fixed(out, greeting))
    }

    /// The answer to the greeting, with the first authentication data.
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
                command::put_lenenc_bytes(out, auth);
            } else {
                // Every first answer is shorter than 256 bytes.
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

/// What the server says after the client's answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The connection is open.
    Ready,
    /// The account uses another plugin; start over with this nonce.
    Switch {
        /// The plugin's name.
        plugin: String,
        /// The new nonce.
        scramble: Vec<u8>,
    },
    /// Data of the running plugin.
    More(Vec<u8>),
    /// Refused.
    Refused(ServerError),
}

impl Next {
    /// Reads a message of the authentication.
    ///
    /// # Errors
    /// When it is none.
    pub fn parse(payload: &[u8]) -> Result<Self, ProtocolError> {
        match payload {
            [0x00, ..] => Ok(Self::Ready),
            [0xff, ..] => ServerError::parse(payload).map(Self::Refused),
            [0x01, data @ ..] => Ok(Self::More(data.to_vec())),
            [0xfe] => Err(ProtocolError::TooOld("4.1 passwords")),
            [0xfe, rest @ ..] => {
                let mut fields = Fields::new(rest, "authentication switch");
                let plugin = String::from_utf8_lossy(fields.until_nul()).into_owned();
                let scramble = match fields.rest() {
                    // A zero closes the nonce of the hashing plugins; a nonce of
                    // another length may itself end with a zero.
                    [scramble @ .., 0] if scramble.len() == SCRAMBLE_BYTES => scramble,
                    scramble => scramble,
                };
                Ok(Self::Switch {
                    plugin,
                    scramble: scramble.to_vec(),
                })
            }
            [first, ..] => Err(ProtocolError::Unexpected {
                first: *first,
                place: "in the authentication",
            }),
            [] => Err(ProtocolError::Truncated("authentication")),
        }
    }
}
