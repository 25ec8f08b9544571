//! MySQL and MariaDB over the network.

mod dialect;
mod error;
mod login;
mod password;
mod protocol;
mod target;
mod text;

pub use dialect::DIALECT;
pub use error::refusal_remedy;
pub use protocol::{Connection, Mysql, Statement};
pub use target::{DEFAULT_PORT, SCHEMES, Target, TargetError};

pub use crate::channel::Withheld;
pub use crate::error::Error;
pub use crate::tls::{ServerPublicKey, TlsFailure, TlsMode, TlsOptions};
pub use plan::StatementProtocol;

pub type Connector = crate::session::Connector<Mysql>;
pub type MysqlSession = crate::session::NetworkSession<Mysql>;
