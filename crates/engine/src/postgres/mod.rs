//! PostgreSQL.

mod changed;
mod checks;
mod counters;
mod database;
mod feed;
mod load;

use std::path::Path;
use std::sync::Arc;

use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::engine::Engine;
use crate::error::EngineError;

/// PostgreSQL.
pub const POSTGRES: &dyn Engine = &Postgres;

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
}
