//! A database of a PostgreSQL server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::load::{LoadError, LoadOutcome};
use client::postgres::{Connection, Connector, Error, Target, TargetError, refusal_remedy};
use client::reactor::Reactor;
use workload::options::Options;
use workload::rows::Checksum;
use workload::schema::table_name;
use workload::session::{FailureKind, SessionError};

use super::feed::Feed;
use super::{POSTGRES, changed};
use crate::checks::Said;
use crate::counters::Counters;
use crate::data::{self, Listener, PrepareError, Prepared, Wanted};
use crate::database::{Access, Database, Load, Sending, Whereabouts};
use crate::engine::Engine;
use crate::error::{Cause, EngineError};
use crate::remote::{connected, read};

/// The database that every server has, unless somebody dropped it; `createdb` connects to it, too.
const MAINTENANCE_DATABASE: &str = "postgres";
/// The database does not exist.
const INVALID_CATALOG_NAME: &str = "3D000";
/// Somebody else has just created the database.
const DUPLICATE_DATABASE: &str = "42P04";

/// A sequential scan of a large table passes through a few buffers only, and leaves the rest of
/// shared_buffers as it was; an index scan fills them with rows and index.
const BY_INDEX: [&str; 3] = [
    "SET enable_seqscan = off",
    "SET enable_bitmapscan = off",
    "SET max_parallel_workers_per_gather = 0",
];

/// A database of a server that answers.
#[derive(Debug)]
pub(super) struct PostgresDatabase {
    pub(super) target: Arc<Target>,
    version: String,
    tls: Option<String>,
}

/// Opens the database that a URL names.
pub(super) fn open(url: &str, access: &Access) -> Result<Arc<dyn Database>, EngineError> {
    let target = Target::parse(url, access.password.as_deref(), &access.user, &access.tls)
        .map_err(|error| EngineError::failed(target_cause(&error), error))?;
    if access.create_database {
        create_if_missing(&target)?;
    }
    Ok(Arc::new(PostgresDatabase::open(target)?))
}

impl PostgresDatabase {
    /// Connects once and asks for the version.
    pub(super) fn open(target: Target) -> Result<Self, EngineError> {
        let never = AtomicBool::new(false);
        let (version, tls) = connected(&target, &never, async |connection: &mut Connection| {
            Ok::<_, Error>((
                connection.server_version().to_owned(),
                connection.tls_description(),
            ))
        })?;
        let ends = |c: char| c != '.' && !c.is_ascii_digit();
        Ok(Self {
            target: Arc::new(target),
            // Distributions add their own: "15.10 (Debian 15.10-0+deb12u1)".
            version: version.split(ends).next().unwrap_or(&version).to_owned(),
            tls,
        })
    }
}

impl Database for PostgresDatabase {
    fn engine(&self) -> &'static dyn Engine {
        POSTGRES
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn shown(&self) -> String {
        self.target.shown()
    }

    fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        if matches!(error.kind, FailureKind::Lost | FailureKind::Away) && error.sqlstate.is_none() {
            return Some("look into the server's log for why the connection ended");
        }
        refusal_remedy(std::str::from_utf8(error.sqlstate.as_ref()?).ok()?)
    }

    fn prepare(
        &self,
        wanted: &Wanted<'_>,
        listener: Listener<'_>,
    ) -> Result<Prepared, PrepareError> {
        data::load::prepare::<Connection>(&self.target, wanted, listener)
    }

    fn checksum(&self) -> Result<Checksum, PrepareError> {
        data::load::checksum::<Connection>(&self.target)
    }

    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), EngineError> {
        let tables = (1..=options.tables).map(table_name);
        let statements =
            tables.flat_map(|table| data::reading(options, &table, " WHERE id IS NOT NULL", ""));
        let statements = BY_INDEX.map(str::to_owned).into_iter().chain(statements);
        read::<Connection>(&self.target, statements, interrupted)
    }

    fn drive(&self, sending: Sending, load: Load<'_>) -> Result<LoadOutcome, LoadError> {
        load.run(Connector {
            target: (*self.target).clone(),
            protocol: sending.protocol,
            stamp_replies: sending.stamp_replies,
        })
    }

    fn tls(&self) -> Option<String> {
        self.tls.clone()
    }

    fn counters(&self) -> Option<Counters> {
        Some(Counters::new(Feed::new(Arc::clone(&self.target))))
    }

    fn changed_settings(&self) -> Result<Vec<(String, String)>, EngineError> {
        Ok(changed::not_default(&self.target)?)
    }

    fn ask(&self) -> Option<Result<Said, String>> {
        Some(changed::ask(&self.target).map_err(|error| error.to_string()))
    }

    fn locate(&self, look: &mut dyn FnMut(&Whereabouts)) -> Result<(), String> {
        changed::locate(&self.target, look).map_err(|error| error.to_string())
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.target.addresses().to_vec()
    }
}

/// Creates the database unless it exists; an account without the right to create one can still
/// use one that does.
fn create_if_missing(target: &Target) -> Result<(), EngineError> {
    let internal = |error| EngineError::failed(Cause::Internal, error);
    let reactor = Reactor::new().map_err(internal)?;
    match reactor
        .block_on(Connection::open(target))
        .map_err(internal)?
    {
        Err(error) if error.sqlstate() == Some(INVALID_CATALOG_NAME) => {}
        Ok(connection) => return reactor.block_on(connection.close()).map_err(internal),
        // Opening the database reports it.
        Err(_) => return Ok(()),
    }
    let never = AtomicBool::new(false);
    let maintenance = target.with_database(MAINTENANCE_DATABASE);
    let name = target.database.replace('"', "\"\"");
    connected(
        &maintenance,
        &never,
        async |connection: &mut Connection| match connection
            .run(&format!("CREATE DATABASE \"{name}\""))
            .await
        {
            Err(error) if error.sqlstate() == Some(DUPLICATE_DATABASE) => Ok(()),
            created => created.map(drop),
        },
    )
}

fn target_cause(error: &TargetError) -> Cause {
    match error {
        TargetError::Host { .. } => Cause::Server,
        TargetError::Url(_) | TargetError::Tls(_) => Cause::Usage,
    }
}
