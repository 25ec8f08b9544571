//! Connections: sockets, TLS and authentication around the codecs of `wire`, and SQLite in
//! process; all give the workloads their `Session`.

mod channel;
pub mod clock;
pub mod connection;
mod dial;
mod endpoint;
pub mod error;
pub mod hosts;
pub mod mysql;
pub mod net;
mod peer;
pub mod postgres;
pub mod reactor;
pub mod route;
pub mod session;
pub mod sqlite;
mod statement_text;
mod tcp;
pub mod tls;

pub use channel::Withheld;
pub use connection::{Connection, Protocol};
pub use endpoint::TargetError;
pub use error::Error;
pub use plan::StatementProtocol;
pub use tls::{ServerPublicKey, TlsMode, TlsOptions};
