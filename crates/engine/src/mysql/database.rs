//! A database of a MariaDB or MySQL server.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::load::{LoadError, LoadOutcome};
use client::mysql::{Connection, Connector, Error, Target, TargetError, refusal_remedy};
use workload::options::Options;
use workload::rows::Checksum;
use workload::schema::table_name;
use workload::session::{FailureKind, SessionError};

use super::feed::Feed;
use super::flavor::Flavor;
use super::{flavor, settings};
use crate::checks::Said;
use crate::counters::Counters;
use crate::data::{self, Listener, PrepareError, Prepared, Wanted};
use crate::database::{Access, Database, Load, Sending, Whereabouts};
use crate::engine::Engine;
use crate::error::{Cause, EngineError};
use crate::remote::{ask, connected, read};

/// How long a server may take to say where it is.
const LOCATE_LIMIT: Duration = Duration::from_secs(3);

/// A database of a server that answers.
#[derive(Debug)]
pub(super) struct MysqlDatabase {
    target: Arc<Target>,
    flavor: &'static Flavor,
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
    Ok(Arc::new(MysqlDatabase::open(target)?))
}

impl MysqlDatabase {
    /// Connects once and asks who answers.
    pub(super) fn open(target: Target) -> Result<Self, EngineError> {
        let never = AtomicBool::new(false);
        let (version, flavor, tls) =
            connected(&target, &never, async |connection: &mut Connection| {
                Ok::<_, Error>((
                    connection.server_version().to_owned(),
                    flavor(connection),
                    connection.tls_description(),
                ))
            })?;
        // MariaDB 10 calls itself "5.5.5-10.11.14-MariaDB-…" to old replicas.
        let version = version.trim_start_matches("5.5.5-");
        let ends = |c: char| c == '-' || c.is_whitespace();
        Ok(Self {
            target: Arc::new(target),
            flavor,
            version: version.split(ends).next().unwrap_or(version).to_owned(),
            tls,
        })
    }
}

impl Database for MysqlDatabase {
    fn engine(&self) -> &'static dyn Engine {
        self.flavor
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn shown(&self) -> String {
        self.target.shown()
    }

    fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        if matches!(error.kind, FailureKind::Lost | FailureKind::Away) && !error.is_from_server() {
            return Some("look into the server's error log for why the connection ended");
        }
        refusal_remedy(error.number?)
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
        let statements = (1..=options.tables).flat_map(|table| reading(options, table));
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
        Ok(settings::not_default(&self.target)?)
    }

    fn ask(&self) -> Option<Result<Said, String>> {
        Some(settings::ask(&self.target).map_err(|error| error.to_string()))
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        self.target.addresses().to_vec()
    }

    fn locate(&self, look: &mut dyn FnMut(&Whereabouts)) -> Result<(), String> {
        let located = ask(
            self.target.as_ref(),
            LOCATE_LIMIT,
            async |connection: &mut Connection| {
                look(&whereabouts(connection).await?);
                Ok(())
            },
        );
        located.map_err(|error| error.to_string())
    }
}

async fn whereabouts(connection: &mut Connection) -> Result<Whereabouts, Error> {
    let rows = connection.rows("SELECT @@datadir, @@pid_file").await?;
    let mut cells = rows.into_iter().flatten().flatten();
    let data_dir = std::path::PathBuf::from(cells.next().unwrap_or_default());
    Ok(Whereabouts {
        peer: connection.peer().ok(),
        pid_file: data_dir.join(cells.next().unwrap_or_default()),
        data_dir,
    })
}

/// The statements that read every row of a table through its clustered index, and every entry
/// of its secondary one.
fn reading(options: &Options, table: u32) -> Vec<String> {
    let name = table_name(table);
    let [by_rows, by_index] = match options.secondary {
        true => [String::new(), String::new()],
        false => [
            " FORCE INDEX (PRIMARY)".to_owned(),
            format!(" FORCE INDEX (k_{table})"),
        ],
    };
    data::reading(options, &name, &by_rows, &by_index)
}

/// The server's error number of a database that does not exist.
const UNKNOWN_DATABASE: u32 = 1049;

/// Creates the database unless it exists; an account without the right to create one can still
/// use one that does.
fn create_if_missing(target: &Target) -> Result<(), EngineError> {
    let never = AtomicBool::new(false);
    let name = format!("`{}`", target.database.replace('`', "``"));
    connected(
        &target.without_database(),
        &never,
        async |connection: &mut Connection| match connection.run(&format!("USE {name}")).await {
            Err(error) if error.number() == Some(UNKNOWN_DATABASE) => {
                let sql = format!("CREATE DATABASE IF NOT EXISTS {name}");
                connection.run(&sql).await.map(|_| ())
            }
            used => used.map(|_| ()),
        },
    )
}

fn target_cause(error: &TargetError) -> Cause {
    match error {
        TargetError::Host { .. } => Cause::Server,
        TargetError::Url(_) | TargetError::Tls(_) => Cause::Usage,
    }
}
