//! Everything that is particular to a database, in a folder for each engine.
//!
//! An engine specifies what to write, run, and query; the laboratory does so. [`ENGINES`] lists all
//! engines, and nothing outside this crate, the wire protocols, and the clients needs to know their
//! names.

pub mod certificate;
pub mod checks;
#[cfg(test)]
mod conduct_tests;
pub mod counters;
pub mod data;
mod database;
mod engine;
mod http;
mod launch;
mod log;
pub mod mysql;
mod network;
pub mod postgres;
mod program;
mod registry;
mod remote;
pub mod replication;
mod server;
mod settings;
mod sqlite;
mod version;

pub use database::{
    Access, Database, Handover, Load, ServerDatabase, ServerLocation, ServerReport,
};
pub use engine::{Engine, Flush, InProcess};
pub use launch::{
    Initialization, Invocation, LOOPBACK, LogEntries, Login, LoginAttempt, Needs, Paths, Rejected,
    ServerFile,
};
pub use mysql::{MARIADB, MYSQL};
pub use plan::{Exit, Fact, Failure};
pub use postgres::POSTGRES;
pub use program::{Installed, exists, find, helper, installations};
pub use registry::{ENGINES, by_name, catalog, in_process, of_url, servers};
pub use remote::Sql;
pub use server::{Server, ServerTraits};
pub use settings::Settings;
pub use sqlite::SQLITE;
