//! A database that can be loaded, driven, and observed.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ::load::{Barrier, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pulse, Stop};
use client::net::Peer;
use client::route::Route;
use client::{StatementProtocol, TlsOptions};
use plan::Failure;
use serde::{Deserialize, Serialize};
use workload::built_in::BuiltIn;
use workload::options::Options;
use workload::session::{Connect, SessionError};

use crate::counters::Counters;
use crate::data::{Listener, Prepared, Wanted};
use crate::engine::Engine;
use crate::registry::by_name;
use crate::remote::{Rows, Sql};
use crate::replication::Role;

/// How to reach a database, besides its URL. Does not implement `Debug`, so that nothing prints the
/// password.
#[derive(Clone, Default)]
pub struct Access {
    pub tls: TlsOptions,
    pub user: String,
    /// The password, if the URL has none.
    pub password: Option<String>,
    /// Whether to create a server's database if it does not exist. In-process engines always do.
    pub create_database: bool,
    /// Whether the server is dyno's own, to which the user's environment does not apply.
    pub is_private: bool,
}

impl Access {
    pub(crate) fn private(password: Option<&str>) -> Self {
        Self {
            tls: TlsOptions::disabled(),
            password: password.map(str::to_owned),
            is_private: true,
            ..Self::default()
        }
    }
}

/// What another process needs to drive the servers of a database. Does not implement `Debug`, so
/// that nothing prints a password.
#[derive(Serialize, Deserialize)]
pub struct Handover {
    pub(crate) engine: String,
    pub(crate) version: String,
    pub(crate) servers: Vec<ServerHandover>,
}

#[derive(Serialize, Deserialize)]
pub struct ServerHandover {
    /// Without the password.
    pub(crate) url: String,
    pub(crate) password: Option<String>,
    pub(crate) tls: TlsOptions,
    pub(crate) is_local: bool,
}

impl Handover {
    /// A server that only its own host reaches.
    pub fn local_server(&self) -> Option<&str> {
        let mut servers = self.servers.iter();
        let local = servers.find(|server| server.is_local)?;
        Some(&local.url)
    }

    /// The database, to which no connection is opened before it is driven.
    pub fn open(&self) -> Result<Arc<dyn Database>, Failure> {
        let engine = by_name(&self.engine);
        let about = engine.map(|engine| (engine, engine.about().reopen));
        let Some((engine, Some(reopen))) = about else {
            let message = format!("{:?} is no engine with servers", self.engine);
            return Err(Failure::usage(message));
        };
        reopen(engine, &self.version, &self.servers)
    }
}

impl ServerHandover {
    pub(crate) fn access(&self) -> Access {
        Access {
            tls: self.tls.clone(),
            ..Access::private(self.password.as_deref())
        }
    }
}

/// A load and the receiver of its events.
pub struct Load<'a> {
    pub spec: &'a LoadSpec,
    pub workload: &'a BuiltIn,
    pub protocol: StatementProtocol,
    /// Whether the kernel timestamps the arrival of replies, where it can.
    pub stamp_replies: bool,
    /// Where the load waits for the other loads of its trial.
    pub barrier: &'a Barrier,
    /// Determines which of the database's servers users connect to.
    pub route: &'a Arc<Route>,
    pub stop: &'a Stop,
    /// Publishes the load's progress between its seconds; `None` if nobody reads it.
    pub pulse: Option<&'a Arc<Pulse>>,
    pub tell: &'a mut dyn FnMut(LoadEvent),
}

impl Load<'_> {
    pub(crate) fn run<C>(self, connector: C) -> Result<LoadOutcome, LoadError>
    where
        C: Connect + Send + Sync + 'static,
        C::Session: 'static,
    {
        ::load::run(
            self.spec,
            &Arc::new(connector),
            self.workload,
            self.barrier,
            self.stop,
            self.pulse,
            self.tell,
        )
    }
}

/// Where a server runs, as it reports itself.
#[derive(Debug, Clone)]
pub struct ServerLocation {
    /// The other end of the connection; `None` if the kernel does not report it.
    pub peer: Option<Peer>,
    /// The data directory, which is the server's working directory.
    pub data_dir: PathBuf,
    pub pid_file: PathBuf,
}

/// What a server reports about itself.
#[derive(Debug, Clone, Default)]
pub struct ServerReport {
    /// All settings that the account may see, by name.
    pub settings: BTreeMap<String, String>,
    /// Size of tables and indexes; `None` if the account may not see it.
    pub data_bytes: Option<u64>,
    /// The data directory; `None` if the account may not see it.
    pub data_dir: Option<PathBuf>,
    /// The name of the host; `None` if the engine does not report it.
    pub host_name: Option<String>,
}

/// An open database: of servers, or in process.
pub trait Database: Any + fmt::Debug + Send + Sync {
    fn engine(&self) -> &'static dyn Engine;

    /// The engine's version number, for example `10.11.14`.
    fn version(&self) -> &str;

    fn shown(&self) -> String;

    /// What the user can do about an error of a statement.
    fn remedy(&self, error: &SessionError) -> Option<&'static str>;

    /// Loads missing tables of a workload.
    fn prepare(&self, wanted: &Wanted<'_>, listener: Listener<'_>) -> Result<Prepared, Failure>;

    /// Count and checksum of all rows, from the marks.
    fn checksum(&self) -> Result<workload::rows::Checksum, Failure>;

    /// Reads every row and index entry of all tables once.
    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), Failure>;

    /// Runs a load on connections of the engine's own type: there is no dynamic dispatch below.
    fn drive(&self, load: Load<'_>) -> Result<LoadOutcome, LoadError>;

    /// Opens a connection for observing the database beside its load.
    fn connect(&self, limit: Duration) -> Result<Box<dyn Sql>, SessionError>;

    /// `None` for a database in this process.
    fn server(&self) -> Option<&dyn ServerDatabase> {
        None
    }

    fn file(&self) -> Option<&Path> {
        None
    }
}

/// A query for a server's role, and the function that reads the role from the answer.
pub(crate) type RoleQuery = (&'static str, fn(&Rows) -> Role);

/// An open database of one server, or of several that replicate.
pub trait ServerDatabase {
    /// The database for loads whose routes choose among these servers; `None` if a server has
    /// another protocol.
    fn with_members(&self, members: &[Arc<dyn Database>]) -> Option<Arc<dyn Database>>;

    /// What another process needs to drive these servers.
    fn handover(&self) -> Result<Handover, Failure>;

    /// The servers of a URL that names several, each as a database of its own.
    fn members(&self) -> Vec<Arc<dyn Database>>;

    /// Asks one of [`ServerDatabase::members`] for its role; `None` for other databases.
    fn role_query(&self) -> Option<RoleQuery>;

    /// TLS version and cipher; `None` without TLS.
    fn tls(&self) -> Option<String>;

    fn counters(&self) -> Box<dyn Counters>;

    /// Settings that differ from the defaults, sorted by name. Secrets are hidden, and settings
    /// that are unique to each server (directories, ports) are omitted.
    fn changed_settings(&self) -> Result<Vec<(String, String)>, Failure>;

    /// Reads what checks need to know.
    fn report(&self) -> Result<ServerReport, String>;

    /// The addresses at which the server is reached over TCP.
    fn addresses(&self) -> Vec<SocketAddr>;

    /// Asks the server where it runs, and calls `look` while the connection is open, because the
    /// kernel lists both of its ends only then.
    fn locate(&self, look: &mut dyn FnMut(&ServerLocation)) -> Result<(), String>;
}

impl dyn Database {
    /// The engine and its version, for example `MariaDB 10.11.14`.
    pub fn product(&self) -> String {
        format!("{} {}", self.engine().title(), self.version())
    }

    /// Whether the database runs in this process, where its calls block.
    pub fn is_in_process(&self) -> bool {
        self.engine().in_process().is_some()
    }
}
