//! The MySQL client/server protocol, as MySQL 5.7 to 9 and MariaDB speak it.
//!
//! Follows the "Client/Server Protocol" pages of MySQL's source documentation
//! and of the MariaDB knowledge base.

pub mod auth;
pub mod command;
pub mod handshake;
pub mod packet;
pub mod reply;
pub mod rows;

mod error;
mod lenenc;

pub use error::parse_error;

pub mod capability {
    /// UPDATE reports the rows that it matched rather than those that it changed.
    pub const FOUND_ROWS: u64 = 1 << 1;
    /// Column flags in their long form.
    pub const LONG_FLAG: u64 = 1 << 2;
    /// The handshake names a database.
    pub const CONNECT_WITH_DB: u64 = 1 << 3;
    pub const LOCAL_FILES: u64 = 1 << 7;
    pub const PROTOCOL_41: u64 = 1 << 9;
    /// The connection continues under TLS.
    pub const SSL: u64 = 1 << 11;
    pub const TRANSACTIONS: u64 = 1 << 13;
    /// The 4.1 authentication.
    pub const SECURE_CONNECTION: u64 = 1 << 15;
    /// Several result sets from a text statement.
    pub const MULTI_RESULTS: u64 = 1 << 17;
    /// Several result sets from a prepared statement.
    pub const PS_MULTI_RESULTS: u64 = 1 << 18;
    /// Authentication by named plugins.
    pub const PLUGIN_AUTH: u64 = 1 << 19;
    /// Authentication data of any length.
    pub const PLUGIN_AUTH_LENENC_DATA: u64 = 1 << 21;
    /// No EOF packets: a result set ends with an OK packet.
    pub const DEPRECATE_EOF: u64 = 1 << 24;
    /// Set by MySQL; MariaDB leaves it unset and uses the flags from bit 32 on.
    pub const MYSQL: u64 = 1;
    /// MariaDB since 10.6: column definitions of a prepared statement are sent again only if
    /// they have changed; the column count says whether they follow.
    pub const CACHE_METADATA: u64 = 1 << 36;
}

/// Status flag: another result set follows.
pub const SERVER_MORE_RESULTS_EXISTS: u16 = 0x0008;
/// Status flag: a transaction is open.
pub const SERVER_STATUS_IN_TRANS: u16 = 0x0001;
