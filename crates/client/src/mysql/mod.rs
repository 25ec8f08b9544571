//! MySQL and MariaDB over the network.

mod connection;
mod dialect;
mod error;
mod login;
mod password;
mod session;
mod target;

pub use connection::Connection;
pub use dialect::DIALECT;
pub use error::{Error, refusal_remedy};
pub use password::Withheld;
pub use session::{Connector, MysqlSession};
pub use target::{DEFAULT_PORT, SCHEMES, Target, TargetError};

pub use crate::statement_protocol::StatementProtocol;
pub use crate::tls::{ServerPublicKey, TlsFailure, TlsMode, TlsOptions};
