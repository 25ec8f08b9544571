//! Connections: sockets, TLS and authentication around the codecs of `wire`, and
//! SQLite in process; both give the workloads their `Session`.

pub mod clock;
mod dial;
pub mod mysql;
pub mod net;
mod peer;
pub mod reactor;
mod shown;
pub mod sqlite;
mod tcp;

pub use mysql::{ServerPublicKey, StatementProtocol, TlsMode, TlsOptions};
