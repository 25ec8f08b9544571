//! PostgreSQL over the network.

mod error;
mod login;
mod parameters;
mod passfile;
mod protocol;
mod target;

use workload::schema::Dialect;

pub use error::refusal_remedy;
pub use parameters::SCHEMES;
pub use protocol::{Connection, Postgres};
pub use target::Target;

pub use crate::channel::Withheld;
pub use crate::error::Error;

pub type Connector = crate::session::Connector<Postgres>;
pub type PostgresSession = crate::session::NetworkSession<Postgres>;

pub static DIALECT: Dialect = Dialect {
    generated_id: "SERIAL",
    adds_primary_key: true,
    set_next_id: Some("SELECT setval(pg_get_serial_sequence('{table}', 'id'), {rows})"),
    has_numbered_placeholders: true,
    ..Dialect::STANDARD
};
