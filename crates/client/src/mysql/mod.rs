//! MySQL and MariaDB over the network.

mod error;
mod login;
mod password;
mod protocol;
mod target;

use workload::schema::Dialect;

pub use error::refusal_remedy;
pub use protocol::{Connection, Mysql, Statement};
pub use target::Target;

pub use crate::channel::Withheld;
pub use crate::error::Error;
pub use crate::tls::{ServerPublicKey, TlsFailure, TlsMode, TlsOptions};
pub use plan::StatementProtocol;

pub type Connector = crate::session::Connector<Mysql>;
pub type MysqlSession = crate::session::NetworkSession<Mysql>;

/// An ID of 0 requests the next value of AUTO_INCREMENT, as in sysbench.
const GENERATED_ROW: &str = "(id, k, c, pad) VALUES (0, ?, ?, ?)";

pub static DIALECT: Dialect = Dialect {
    generated_id: "INTEGER NOT NULL AUTO_INCREMENT",
    generated_row: GENERATED_ROW,
    generated_row_without_key: GENERATED_ROW,
    secondary_key: Some("KEY xid (id)"),
    table_options: " /*! ENGINE = {engine} */",
    default_storage_engine: "innodb",
    has_on_conflict: false,
    ..Dialect::STANDARD
};
