//! PostgreSQL.

mod changed;
mod checks;
mod configuration;
mod counters;
mod database;
mod feed;
mod load;
mod log;
mod reserved;
mod server;
mod settings;

use std::path::Path;
use std::sync::Arc;

use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::engine::Engine;
use crate::error::EngineError;
use crate::server::Server;

/// PostgreSQL.
pub const POSTGRES: &dyn Server = &Postgres;

#[derive(Debug)]
struct Postgres;

impl Engine for Postgres {
    fn name(&self) -> &'static str {
        "postgres"
    }

    fn title(&self) -> &'static str {
        "PostgreSQL"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &client::postgres::SCHEMES
    }

    fn dialect(&self) -> &'static Dialect {
        &client::postgres::DIALECT
    }

    fn open(
        &self,
        url: &str,
        access: &Access,
        _: Option<&Path>,
    ) -> Result<Arc<dyn Database>, EngineError> {
        database::open(url, access)
    }

    fn server(&self) -> Option<&'static dyn Server> {
        Some(POSTGRES)
    }
}
