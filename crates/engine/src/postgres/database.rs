//! Databases of PostgreSQL servers.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use client::postgres::{Connection, Postgres, Target, refusal_remedy};
use client::{TargetError, TlsOptions};
use plan::Failure;
use workload::options::Options;
use workload::schema::table_name;
use workload::session::SessionError;

use super::POSTGRES;
use super::configuration::SUPERUSER;
use super::counters::ViewsFeed;
use crate::data;
use crate::database::Access;
use crate::engine::Engine;
use crate::launch::Login;
use crate::network::{self, NetworkEngine};
use crate::remote::{connected, on_reactor, url_path};

/// The database that every server has unless someone dropped it; `createdb` connects to it, too.
const MAINTENANCE_DATABASE: &str = "postgres";
const INVALID_CATALOG_NAME: &str = "3D000";
/// Another session has just created the database.
const DUPLICATE_DATABASE: &str = "42P04";

/// A sequential scan of a large table uses only a few buffers and leaves the rest of shared_buffers
/// unchanged. An index scan fills them with rows and index.
const BY_INDEX: [&str; 3] = [
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET max_parallel_workers_per_gather = 0",
];

impl NetworkEngine for Postgres {
    type Feed = ViewsFeed;

    const PER_SERVER_SETTINGS: &'static str = "cluster_name external_pid_file hba_file ident_file \
         listen_addresses log_directory log_filename port unix_socket_directories";
    const DATA_DIR_SETTING: &'static str = "data_directory";
    const LOCATION_QUERY: &'static str =
        "SELECT current_setting('data_directory'), 'postmaster.pid'";
    const ROLE_QUERY: &'static str = "SELECT (NOT pg_is_in_recovery())::int";
    /// Also returns the number of running vacuums.
    const SETTINGS_QUERY: &'static str = "SELECT name, current_setting(name) FROM pg_settings \
         UNION ALL SELECT 'pg_stat_progress_vacuum', count(*)::text FROM pg_stat_progress_vacuum";
    const SIZE_QUERY: &'static str = "SELECT sum(pg_total_relation_size(oid)) FROM pg_class \
         WHERE relkind IN ('r', 'm') AND oid >= 16384";

    fn target(url: &str, access: &Access) -> Result<Target, TargetError> {
        let environment = |name: &str| std::env::var(name).ok().filter(|_| !access.is_private);
        let password = access.password.as_deref();
        Target::parse(url, password, &access.user, &access.tls, &environment)
    }

    fn secrets(target: &Target) -> (Option<&str>, &TlsOptions) {
        target.secrets()
    }

    /// The superuser through the socket, where the kernel vouches for both ends.
    fn administrator(login: &Login<'_>) -> Result<Target, Failure> {
        let directory = url_path(login.socket.parent().unwrap_or(Path::new("/")));
        let port = login.socket.extension().unwrap_or_default();
        let port = port.to_string_lossy();
        let url = format!("postgres://{SUPERUSER}@/{SUPERUSER}?host={directory}&port={port}");
        Ok(Self::target(&url, &Access::private(None))?)
    }

    fn create_database(target: &Target) -> Result<(), Failure> {
        let is_missing = on_reactor(async {
            match Connection::open(target).await {
                Ok(connection) => {
                    connection.close().await;
                    false
                }
                // Any other error is reported when the database is opened.
                Err(error) => error.sqlstate() == Some(INVALID_CATALOG_NAME),
            }
        })?;
        if !is_missing {
            return Ok(());
        }
        let name = target.database.replace('"', "\"\"");
        let sql = format!("CREATE DATABASE \"{name}\"");
        let create = async |connection: &mut Connection| {
            if !network::is_primary(connection).await? {
                return Ok(());
            }
            match connection.run(&sql).await {
                Err(error) if error.sqlstate() == Some(DUPLICATE_DATABASE) => Ok(()),
                created => created.map(drop),
            }
        };
        let maintenance = target.with_database(MAINTENANCE_DATABASE);
        connected(&maintenance, &AtomicBool::new(false), create)
    }

    fn engine(_: &Connection) -> &'static dyn Engine {
        POSTGRES
    }

    fn refusal_remedy(error: &SessionError) -> Option<&'static str> {
        refusal_remedy(std::str::from_utf8(error.sqlstate.as_ref()?).ok()?)
    }

    fn read_statements(options: &Options) -> Vec<String> {
        let tables = (1..=options.data.tables).map(table_name);
        let read =
            tables.flat_map(|table| data::reading(options, &table, " WHERE id IS NOT NULL", ""));
        BY_INDEX
            .map(str::to_owned)
            .into_iter()
            .chain(read)
            .collect()
    }
}
