//! PostgreSQL over the network.

mod dialect;
mod error;
mod login;
mod parameters;
mod passfile;
mod password;
mod protocol;
mod target;
mod text;

pub use dialect::DIALECT;
pub use error::refusal_remedy;
pub use protocol::{Connection, Postgres};
pub use target::{DEFAULT_PORT, SCHEMES, Target, TargetError};

pub use crate::channel::Withheld;
pub use crate::error::Error;

pub type Connector = crate::session::Connector<Postgres>;
pub type PostgresSession = crate::session::NetworkSession<Postgres>;
