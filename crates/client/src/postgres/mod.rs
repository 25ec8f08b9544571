//! PostgreSQL over the network.

mod connection;
mod dialect;
mod error;
mod login;
mod parameters;
mod passfile;
mod password;
mod session;
mod target;

pub use connection::Connection;
pub use dialect::DIALECT;
pub use error::{Error, Withheld, refusal_remedy};
pub use session::{Connector, PostgresSession};
pub use target::{DEFAULT_PORT, SCHEMES, Target, TargetError};
