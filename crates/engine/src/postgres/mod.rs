//! PostgreSQL.

mod checks;
mod configuration;
mod counters;
mod database;
mod load;
mod log;
mod patroni;
mod server;
mod settings;
mod streaming;

use crate::engine::{About, Engine, Flush};
use crate::network::{open_url, reopen};
use crate::server::Server;

pub const POSTGRES: &dyn Server = &Postgres;

static ABOUT: About = About {
    name: "postgres",
    title: "PostgreSQL",
    schemes: &client::postgres::SCHEMES,
    url_syntax: "postgres://USER@HOST:PORT/DATABASE[?host=DIRECTORY]",
    variables: &[
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
    ],
    dialect: &client::postgres::DIALECT,
    driver: "pgsql",
    settle: &["VACUUM (ANALYZE)"],
    flush: Flush {
        start: &["CHECKPOINT"],
        left: None,
        restore: &[],
    },
    open: open_url::<client::postgres::Postgres>,
    reopen: Some(reopen::<client::postgres::Postgres>),
};

#[derive(Debug)]
struct Postgres;

impl Engine for Postgres {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn server(&self) -> Option<&'static dyn Server> {
        Some(POSTGRES)
    }
}
