//! A database that can be loaded, driven and watched.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::load::{Barrier, LoadError, LoadEvent, LoadOutcome, LoadSpec, Stop};
use client::net::Peer;
use client::{StatementProtocol, TlsOptions};
use workload::built_in::BuiltIn;
use workload::options::Options;
use workload::session::{Connect, SessionError};

use crate::counters::Counters;
use crate::data::{Listener, PrepareError, Prepared, Wanted};
use crate::engine::Engine;
use crate::error::EngineError;

/// How to reach a database, besides its URL.
#[derive(Debug, Clone, Default)]
pub struct Access {
    /// How much TLS.
    pub tls: TlsOptions,
    /// For a URL that names no user.
    pub user: String,
    /// For a URL that holds no password.
    pub password: Option<String>,
    /// Whether to create a server's database if it does not exist. An engine in process always
    /// does.
    pub create_database: bool,
}

/// How statements are sent.
#[derive(Debug, Clone, Copy)]
pub struct StatementSettings {
    /// Prepared, or as text.
    pub protocol: StatementProtocol,
    /// Have the kernel stamp the arrival of replies, where it can.
    pub stamp_replies: bool,
}

/// A load, and who hears of it.
pub struct Load<'a> {
    /// Its users, workers and times.
    pub spec: &'a LoadSpec,
    /// What the users do.
    pub workload: &'a BuiltIn,
    /// Where it waits for the other loads of its trial.
    pub barrier: &'a Barrier,
    /// What ends it early.
    pub stop: &'a Stop,
    /// Hears of its connections and seconds.
    pub tell: &'a mut dyn FnMut(LoadEvent<'_>),
}

impl Load<'_> {
    /// Runs it on the connections of an engine.
    ///
    /// # Errors
    /// When the load could not begin, or a worker died.
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
            self.tell,
        )
    }
}

/// Where a server says that it is.
#[derive(Debug, Clone)]
pub struct ServerLocation {
    /// Who is at the other end of the connection; `None` where the kernel does not tell.
    pub peer: Option<Peer>,
    /// Its data directory, in which it works.
    pub data_dir: PathBuf,
    /// The file that holds the number of its process.
    pub pid_file: PathBuf,
}

/// What a server reports about itself.
#[derive(Debug, Clone, Default)]
pub struct ServerReport {
    /// The settings that its checks look at, by name.
    pub settings: BTreeMap<String, String>,
    /// Its tables and indexes, where the account may see them.
    pub data_bytes: Option<u64>,
    /// Its data directory, where the account may see it.
    pub data_dir: Option<PathBuf>,
    /// The name of its host, from an engine that knows it.
    pub host_name: Option<String>,
}

/// A database that answers: of a server, or in process.
pub trait Database: fmt::Debug + Send + Sync {
    /// Its engine.
    fn engine(&self) -> &'static dyn Engine;

    /// The version of the engine in numbers, `10.11.14`.
    fn version(&self) -> &str;

    /// Its URL, without the password.
    fn shown(&self) -> String;

    /// What the user can do about an error of a statement.
    fn remedy(&self, error: &SessionError) -> Option<&'static str>;

    /// Loads the tables that `wanted` lacks.
    ///
    /// # Errors
    /// When the database cannot be reached, what is there does not fit, or loading fails.
    fn prepare(
        &self,
        wanted: &Wanted<'_>,
        listener: Listener<'_>,
    ) -> Result<Prepared, PrepareError>;

    /// The count and checksum of all rows, as they were loaded and marked.
    ///
    /// # Errors
    /// When the marks cannot be read.
    fn checksum(&self) -> Result<workload::rows::Checksum, PrepareError>;

    /// Reads every row and index entry of all tables once.
    ///
    /// # Errors
    /// When the database refuses, is lost, or the user stops.
    fn read_tables(&self, options: &Options, interrupted: &AtomicBool) -> Result<(), EngineError>;

    /// Runs a load: the connections are the engine's own type, so nothing below is dispatched at
    /// run time.
    ///
    /// # Errors
    /// When the load could not begin, or a worker died.
    fn drive(&self, sending: StatementSettings, load: Load<'_>) -> Result<LoadOutcome, LoadError>;

    /// Protocol version and cipher, where there is TLS.
    fn tls(&self) -> Option<String> {
        None
    }

    /// The file of a database in process.
    fn file(&self) -> Option<&Path> {
        None
    }

    /// Reads its counters; `None`: it has none.
    fn counters(&self) -> Option<Counters> {
        None
    }

    /// Its settings that are not the defaults, in order of name; secrets are hidden, and settings
    /// that no two servers share (directories, ports) are left out.
    ///
    /// # Errors
    /// Why they could not be read.
    fn changed_settings(&self) -> Result<Vec<(String, String)>, EngineError> {
        Ok(Vec::new())
    }

    /// Asks a server for what the checks on it need; `None`: there are no checks.
    ///
    /// # Errors
    /// Why the server did not answer.
    fn ask(&self) -> Option<Result<ServerReport, String>> {
        None
    }

    /// The addresses at which a server is reached over TCP.
    fn addresses(&self) -> Vec<SocketAddr> {
        Vec::new()
    }

    /// Asks a server where it is and calls `look` while the connection is open: only then does
    /// the kernel list both of its ends.
    ///
    /// # Errors
    /// Why the server did not answer.
    fn locate(&self, look: &mut dyn FnMut(&ServerLocation)) -> Result<(), String> {
        let _ = look;
        Err("it runs in process".to_owned())
    }
}

impl dyn Database {
    /// The engine and its version: `MariaDB 10.11.14`.
    #[must_use]
    pub fn product(&self) -> String {
        format!("{} {}", self.engine().title(), self.version())
    }

    /// Whether it runs in this process, where its calls block.
    #[must_use]
    pub fn is_in_process(&self) -> bool {
        self.engine().in_process().is_some()
    }
}
