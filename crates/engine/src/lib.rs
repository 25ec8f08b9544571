//! Everything that is particular to a database, one folder each.
//!
//! An engine says what to write, what to run and what to ask; the laboratory writes, runs and
//! asks it. [`ENGINES`] lists all of them, and nothing outside this crate, the wire protocols and
//! the clients needs to know their names.

pub mod checks;
mod configuration;
pub mod counters;
pub mod data;
mod database;
mod engine;
mod error;
mod log;
pub mod mysql;
mod network;
pub mod postgres;
mod program;
mod remote;
pub mod replication;
mod server;
mod settings;
mod sqlite;
mod version;

pub use database::{Access, Database, Load, Sending, Whereabouts};
pub use engine::{Engine, InProcess, by_name, catalog, in_process, of_url, servers};
pub use error::{Cause, EngineError, Searched};
pub use mysql::renamed_metric;
pub use mysql::{MARIADB, MYSQL};
pub use postgres::POSTGRES;
pub use program::{Installed, exists, find};
pub use remote::ServerError;
pub use server::{
    Initialization, Invocation, Knock, Login, Needs, Paths, Rejected, Server, ServerFile,
};
pub use settings::Settings;
pub use sqlite::SQLITE;

/// Every engine. An engine is a folder and a line here.
pub const ENGINES: [&dyn Engine; 4] = [MARIADB, MYSQL, POSTGRES, SQLITE];
