//! MySQL and MariaDB over the network.

mod connection;
mod error;
mod login;
mod password;
mod session;
mod target;
mod tls;
mod watchdog;

pub use connection::Connection;
pub use error::{Error, TlsFailure, refusal_remedy};
pub use password::Withheld;
pub use session::{Connector, MysqlSession, StatementProtocol};
pub use target::{DEFAULT_PORT, SCHEMES, Target, TargetError};
pub use tls::{ServerPublicKey, TlsMode, TlsOptions};
pub use watchdog::unless_hung;
