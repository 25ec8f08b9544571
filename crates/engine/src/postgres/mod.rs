//! PostgreSQL.

mod checks;
mod configuration;
mod counters;
mod database;
mod feed;
mod load;
mod log;
mod patroni;
mod server;
mod settings;
mod streaming;

use std::path::Path;
use std::sync::Arc;

use plan::Failure;
use workload::schema::Dialect;

use crate::database::{Access, Database};
use crate::engine::Engine;
use crate::network;
use crate::server::Server;

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

    fn url_syntax(&self) -> String {
        "postgres://USER@HOST:PORT/DATABASE[?host=DIRECTORY]".to_owned()
    }

    fn variables(&self) -> &'static [(&'static str, &'static str)] {
        &[
            (
                "PGHOST, PGPORT",
                "host (or socket directory) and port for PostgreSQL URLs without them",
            ),
            (
                "PGUSER, PGPASSWORD",
                "user and password for PostgreSQL URLs without them",
            ),
            ("PGDATABASE", "database for PostgreSQL URLs without one"),
            ("PGPASSFILE", "file of PostgreSQL passwords [~/.pgpass]"),
            (
                "PGSERVICE, PGSERVICEFILE",
                "PostgreSQL service, and the file that defines it [~/.pg_service.conf]",
            ),
            ("PGSYSCONFDIR", "directory of pg_service.conf for all users"),
            (
                "PGSSLMODE, PGSSLROOTCERT",
                "TLS with PostgreSQL, where no option sets it",
            ),
            (
                "PGSSLCERT, PGSSLKEY",
                "client certificate for PostgreSQL, and its key",
            ),
            (
                "PGCHANNELBINDING",
                "channel binding of PostgreSQL passwords",
            ),
            (
                "PGOPTIONS, PGAPPNAME",
                "settings and application_name of PostgreSQL sessions",
            ),
        ]
    }

    fn dialect(&self) -> &'static Dialect {
        &client::postgres::DIALECT
    }

    fn open(
        &self,
        url: &str,
        access: &Access,
        _: Option<&Path>,
    ) -> Result<Arc<dyn Database>, Failure> {
        network::open_url::<client::postgres::Postgres>(url, access)
    }

    fn server(&self) -> Option<&'static dyn Server> {
        Some(POSTGRES)
    }
}
