//! Databases of servers that are reached over the network.

use std::any::Any;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::load::{LoadError, LoadOutcome};
use client::hosts;
use client::session::Connector;
use client::{Connection, TargetError, TlsOptions};
use plan::Failure;
use workload::options::Options;
use workload::rows::Checksum;
use workload::session::{FailureKind, SessionError};

use crate::counters::{Counters, Feed, Source};
use crate::data::loads::Loads;
use crate::data::{self, Listener, Prepared, Wanted};
use crate::database::{
    Access, Database, Handover, Load, RoleQuery, ServerDatabase, ServerHandover, ServerLocation,
    ServerReport,
};
use crate::engine::Engine;
use crate::launch::Login;
use crate::remote::{Blocking, Rows, Sql, ask, connected, first_number};
use crate::replication::{Role, cell};
use crate::settings;
use crate::version;

/// How long a server may take to list its settings.
const SETTINGS_LIMIT: Duration = Duration::from_secs(10);
/// How long a server may take to answer questions of checks, or to say where it runs.
const ASK_LIMIT: Duration = Duration::from_secs(3);

/// The differences between engines that are reached over the network, implemented for their
/// protocols.
pub(crate) trait NetworkEngine: Loads {
    type Feed: Feed<Self>;

    /// Settings that are unique to each server on a host and do not affect performance.
    const PER_SERVER_SETTINGS: &'static str;
    const DATA_DIR_SETTING: &'static str;
    /// Queries the data directory and the file with the server's process ID.
    const LOCATION_QUERY: &'static str;
    /// Queries whether a server is a primary, in any kind of cluster. The answer is 1 if it is.
    const ROLE_QUERY: &'static str;
    /// Queries the name and value of all settings that the account may see.
    const SETTINGS_QUERY: &'static str;
    /// Queries the size of the database's tables and indexes, in bytes.
    const SIZE_QUERY: &'static str;

    /// How to reach one server of a URL.
    fn target(url: &str, access: &Access) -> Result<Self::Target, TargetError>;

    /// The password of a target, and how its connections are secured.
    fn secrets(target: &Self::Target) -> (Option<&str>, &TlsOptions);

    /// The account that administers a server of the laboratory: whoever uses the socket as the
    /// server's own user.
    fn administrator(login: &Login<'_>) -> Result<Self::Target, Failure>;

    /// Creates the database of a target, unless it exists or the server is a replica. An account
    /// without that privilege can still use an existing database.
    fn create_database(target: &Self::Target) -> Result<(), Failure>;

    /// The engine at the other end.
    fn engine(connection: &Connection<Self>) -> &'static dyn Engine;

    /// What the user can do about an error that the server reported.
    fn refusal_remedy(error: &SessionError) -> Option<&'static str>;

    /// The statements that read every row and index entry of all tables.
    fn read_statements(options: &Options) -> Vec<String>;
}

/// A database of a running server, or of several that replicate.
pub(crate) struct NetworkDatabase<P: NetworkEngine> {
    target: Arc<P::Target>,
    /// All servers, including this one, in the order of routes.
    targets: Vec<Arc<P::Target>>,
    /// Whether this is one of several servers that dyno did not start.
    is_member: bool,
    engine: &'static dyn Engine,
    version: String,
    tls: Option<String>,
}

impl<P: NetworkEngine> fmt::Debug for NetworkDatabase<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.target)
    }
}

/// Opens the servers of a URL, and creates their database if that is wanted. Connects once and asks
/// which engine answers. Among several servers, the first primary answers for all; without a
/// primary, the first server that answers.
pub(crate) fn open_url<P: NetworkEngine>(
    url: &str,
    access: &Access,
    _: Option<&Path>,
) -> Result<Arc<dyn Database>, Failure> {
    let hosts = hosts::split(url);
    let targets = all(hosts
        .iter()
        .map(|url| Ok(Arc::new(P::target(url, access)?))))?;
    if access.create_database {
        let created = targets.iter().map(|target| P::create_database(target));
        let created: Vec<_> = created.collect();
        if !created.iter().any(Result::is_ok) {
            all(created.into_iter())?;
        }
    }
    let mut first = None;
    let mut errors = Vec::new();
    for target in &targets {
        match open_one::<P>(target, &targets) {
            Ok(database) if targets.len() == 1 || database.is_primary() => {
                return Ok(Arc::new(database));
            }
            Ok(database) => {
                first.get_or_insert(database);
            }
            Err(error) => errors.push(error),
        }
    }
    match first {
        Some(database) => Ok(Arc::new(database)),
        None => Err(of_all(errors)),
    }
}

/// Opens the servers that another process has handed over.
pub(crate) fn reopen<P: NetworkEngine>(
    engine: &'static dyn Engine,
    version: &str,
    servers: &[ServerHandover],
) -> Result<Arc<dyn Database>, Failure> {
    let targets = all(servers
        .iter()
        .map(|server| Ok(Arc::new(P::target(&server.url, &server.access())?))))?;
    let first = targets.first().ok_or_else(|| of_all(Vec::new()))?;
    Ok(Arc::new(NetworkDatabase::<P> {
        target: Arc::clone(first),
        targets,
        is_member: false,
        engine,
        version: version.to_owned(),
        tls: None,
    }))
}

/// The results of all servers, or the errors of those that failed.
fn all<T>(done: impl Iterator<Item = Result<T, Failure>>) -> Result<Vec<T>, Failure> {
    let (succeeded, failed): (Vec<_>, Vec<_>) = done.partition(Result::is_ok);
    match failed.is_empty() {
        true => Ok(succeeded.into_iter().flatten().collect()),
        false => Err(of_all(failed.into_iter().filter_map(Result::err).collect())),
    }
}

fn of_all(errors: Vec<Failure>) -> Failure {
    let mut messages: Vec<String> = errors.iter().map(ToString::to_string).collect();
    // An error about the whole URL occurs for each of its hosts.
    messages.dedup();
    let mut errors = errors.into_iter();
    match (errors.next(), messages.as_slice()) {
        (Some(first), [_, _, ..]) => Failure {
            message: messages.join("; "),
            ..first
        },
        (Some(only), _) => only,
        (None, _) => Failure::usage("the URL names no server"),
    }
}

pub(crate) async fn is_primary<P: NetworkEngine>(
    connection: &mut Connection<P>,
) -> Result<bool, client::Error> {
    let rows = connection.rows(P::ROLE_QUERY).await?;
    Ok(role(&rows) == Role::Primary)
}

/// The role in an answer to [`NetworkEngine::ROLE_QUERY`].
fn role(rows: &Rows) -> Role {
    match rows.first().is_some_and(|row| cell(row, 0) == "1") {
        true => Role::Primary,
        false => Role::Replica,
    }
}

fn open_one<P: NetworkEngine>(
    target: &Arc<P::Target>,
    targets: &[Arc<P::Target>],
) -> Result<NetworkDatabase<P>, Failure> {
    let identify = async |connection: &mut Connection<P>| {
        Ok(NetworkDatabase::<P> {
            target: Arc::clone(target),
            targets: targets.to_vec(),
            is_member: false,
            engine: P::engine(connection),
            version: version::number(connection.server_version()).to_owned(),
            tls: connection.tls_description(),
        })
    };
    connected(target.as_ref(), &AtomicBool::new(false), identify)
}

impl<P: NetworkEngine> NetworkDatabase<P> {
    fn is_primary(&self) -> bool {
        let asked = ask::<P, _>(&self.target, ASK_LIMIT, is_primary::<P>);
        asked.unwrap_or(false)
    }

    fn of_target(&self, target: &Arc<P::Target>) -> Self {
        Self {
            target: Arc::clone(target),
            targets: vec![Arc::clone(target)],
            is_member: true,
            engine: self.engine,
            version: self.version.clone(),
            tls: self.tls.clone(),
        }
    }
}

impl<P: NetworkEngine> Database for NetworkDatabase<P> {
    fn engine(&self) -> &'static dyn Engine {
        self.engine
    }

    fn version(&self) -> &str {
        &self.version
    }

    fn shown(&self) -> String {
        let urls = self.targets.iter().map(ToString::to_string);
        hosts::join(&urls.collect::<Vec<_>>())
    }

    fn remedy(&self, error: &SessionError) -> Option<&'static str> {
        let is_lost = matches!(error.kind, FailureKind::Lost | FailureKind::Away);
        let remedy = match is_lost && !error.is_from_server() {
            true => Some("check the server's log for the reason"),
            false => P::refusal_remedy(error),
        };
        // A script has tables of its own.
        remedy.filter(|text| error.kind != FailureKind::Script || !text.starts_with("the table"))
    }

    fn prepare(&self, wanted: &Wanted<'_>, listener: Listener<'_>) -> Result<Prepared, Failure> {
        data::load::prepare::<P>(&self.target, wanted, listener)
    }

    fn checksum(&self) -> Result<Checksum, Failure> {
        data::load::checksum::<P>(&self.target)
    }

    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), Failure> {
        let read = async |connection: &mut Connection<P>| {
            for sql in P::read_statements(options) {
                connection.rows(&sql).await?;
            }
            Ok(())
        };
        connected(self.target.as_ref(), interrupted, read)
    }

    fn drive(&self, load: Load<'_>) -> Result<LoadOutcome, LoadError> {
        let connector = Connector::<P> {
            targets: self.targets.clone(),
            route: Arc::clone(load.route),
            protocol: load.protocol,
            stamp_replies: load.stamp_replies,
        };
        load.run(connector)
    }

    fn connect(&self, limit: Duration) -> Result<Box<dyn Sql>, SessionError> {
        let opened = Blocking::<P>::open(&self.target, limit)?;
        Ok(Box::new(opened))
    }

    fn server(&self) -> Option<&dyn ServerDatabase> {
        Some(self)
    }
}

impl<P: NetworkEngine> ServerDatabase for NetworkDatabase<P> {
    fn with_members(&self, members: &[Arc<dyn Database>]) -> Option<Arc<dyn Database>> {
        let target_of = |database: &Arc<dyn Database>| {
            let database: &dyn Any = database.as_ref();
            let database = database.downcast_ref::<Self>()?;
            Some(Arc::clone(&database.target))
        };
        Some(Arc::new(Self {
            targets: members.iter().map(target_of).collect::<Option<_>>()?,
            is_member: self.is_member,
            ..self.of_target(&self.target)
        }))
    }

    fn members(&self) -> Vec<Arc<dyn Database>> {
        let member = |target| -> Arc<dyn Database> { Arc::new(self.of_target(target)) };
        match self.targets.len() {
            1 => Vec::new(),
            _ => self.targets.iter().map(member).collect(),
        }
    }

    fn handover(&self) -> Result<Handover, Failure> {
        let server = |target: &Arc<P::Target>| {
            let (password, tls) = P::secrets(target);
            let is_loopback = |address: &SocketAddr| address.ip().is_loopback();
            Ok(ServerHandover {
                url: target.to_string(),
                password: password.map(str::to_owned),
                tls: tls.elsewhere().map_err(Failure::server)?,
                is_local: P::addresses(target).iter().all(is_loopback),
            })
        };
        let servers = self.targets.iter().map(server);
        Ok(Handover {
            engine: self.engine.name().to_owned(),
            version: self.version.clone(),
            servers: servers.collect::<Result<_, Failure>>()?,
        })
    }

    fn role_query(&self) -> Option<RoleQuery> {
        let query: RoleQuery = (P::ROLE_QUERY, role);
        self.is_member.then_some(query)
    }

    fn tls(&self) -> Option<String> {
        self.tls.clone()
    }

    fn counters(&self) -> Box<dyn Counters> {
        Box::new(Source::<P>::new(Arc::clone(&self.target)))
    }

    fn changed_settings(&self) -> Result<Vec<(String, String)>, Failure> {
        let Some(server) = self.engine.server() else {
            return Ok(Vec::new());
        };
        let sql = server.traits().changed_settings;
        let changed = async |connection: &mut Connection<P>| connection.rows(sql).await;
        let changed = ask::<P, _>(&self.target, SETTINGS_LIMIT, changed)?;
        let is_secret = |name: &str, value: &str| server.is_secret(name, value);
        Ok(settings::changed(
            changed,
            P::PER_SERVER_SETTINGS,
            is_secret,
        ))
    }

    fn report(&self) -> Result<ServerReport, String> {
        let report = async |connection: &mut Connection<P>| {
            let rows = connection.rows(P::SETTINGS_QUERY).await?;
            let mut settings = settings::checked(rows);
            // An account that may not see the tables may still see the settings.
            let size = connection.rows(P::SIZE_QUERY).await.unwrap_or_default();
            Ok(ServerReport {
                data_dir: settings.remove(P::DATA_DIR_SETTING).map(PathBuf::from),
                host_name: settings.remove("hostname"),
                settings,
                data_bytes: first_number(size),
            })
        };
        let asked = ask::<P, _>(&self.target, ASK_LIMIT, report);
        asked.map_err(|error| error.to_string())
    }

    fn addresses(&self) -> Vec<SocketAddr> {
        P::addresses(&self.target).to_vec()
    }

    fn locate(&self, look: &mut dyn FnMut(&ServerLocation)) -> Result<(), String> {
        let locate = async |connection: &mut Connection<P>| {
            let rows = connection.rows(P::LOCATION_QUERY).await?;
            let mut cells = rows.into_iter().flatten().flatten();
            let data_dir = PathBuf::from(cells.next().unwrap_or_default());
            look(&ServerLocation {
                peer: connection.peer().ok(),
                pid_file: data_dir.join(cells.next().unwrap_or_default()),
                data_dir,
            });
            Ok(())
        };
        let located = ask::<P, _>(&self.target, ASK_LIMIT, locate);
        located.map_err(|error| error.to_string())
    }
}
