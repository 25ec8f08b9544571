//! Connections: sockets, TLS and authentication around the codecs of `wire`, and
//! SQLite in process; both give the workloads their `Session`.

mod channel;
pub mod clock;
mod dial;
pub mod mysql;
pub mod net;
mod peer;
pub mod postgres;
pub mod reactor;
mod shown;
pub mod sqlite;
pub mod statement_protocol;
mod tcp;
pub mod tls;

pub use statement_protocol::StatementProtocol;
pub use tls::{ServerPublicKey, TlsMode, TlsOptions};
