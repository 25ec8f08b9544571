//! What an engine provides so that the laboratory can start its servers.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ipnet::Ipv4Net;
use measure::finding::check::Check;
use rustix::process::Signal;

use crate::checks::Facts;
use crate::configuration::allowed_connections;
use crate::database::Database;
use crate::engine::Engine;
use crate::failure::Failure;
use crate::program::Installed;
use crate::replication::Replication;
use crate::settings::Settings;

/// An engine whose servers the laboratory starts. The engine specifies what to write and what to
/// run; the laboratory does so as an unprivileged user.
pub trait Server: Engine {
    /// Names of the server program, preferred first.
    fn programs(&self) -> &'static [&'static str];

    /// Further directories in which packages install the program, preferred first.
    fn directories(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The user that the package creates for servers.
    fn user(&self) -> &'static str;

    /// How to install the server, for messages.
    fn how_to_install(&self) -> &'static str;

    /// The arguments with which the program prints its version.
    fn version_arguments(&self) -> &'static [&'static str];

    /// The version with the packager's additions, for example `10.11.14-MariaDB-0+deb12u2`, from
    /// the program's output; `None` if the program belongs to another engine.
    fn build(&self, printed: &str) -> Result<Option<String>, String>;

    /// A setting's name in the server's own spelling.
    fn plain_name(&self, name: &str) -> String;

    /// Whether the value of a setting may be a secret; `name` is a [`Server::plain_name`].
    fn is_secret(&self, name: &str, value: &str) -> bool;

    /// Why a study cannot set a setting, by its name; `None` if it can.
    fn reserved_setting(&self) -> fn(&str) -> Option<&'static str>;

    /// Rejects settings that cannot be written to a configuration file, or that only the
    /// laboratory may set.
    fn check_settings(&self, config: &Settings) -> Result<(), Failure>;

    /// Whether a setting determines the format of data files; `name` is in lower case, with `_`.
    fn decides_format(&self, name: &str) -> bool;

    /// The settings that determine the format of data files, in a canonical order and spelling:
    /// data that was prepared with other values does not fit.
    fn format_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let spelled = config
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase().replace('-', "_"), value.clone()));
        let mut settings: Vec<_> = spelled
            .filter(|(name, _)| self.decides_format(name))
            .collect();
        // The sort is stable, so the last of several values of one setting still wins.
        settings.sort_by(|one, other| one.0.cmp(&other.0));
        settings
    }

    /// Settings for loading data fast, and for having all of it in the files after shutdown.
    fn loading_settings(&self) -> &'static [(&'static str, &'static str)];

    fn config_file(&self) -> &'static str;

    /// The configuration file: the laboratory's settings, then the study's.
    fn configuration(&self, installed: &Installed, paths: &Paths, config: &Settings) -> String;

    /// How to initialize a data directory that has the database `database` and no account that can
    /// log in.
    fn initialization(
        &self,
        installed: &Installed,
        paths: &Paths,
        format: &Settings,
        database: &str,
    ) -> Result<Initialization, Failure>;

    /// The error in the output of a failed initialization, without advice for interactive use.
    fn initialization_failure<'a>(&self, log: &'a str) -> &'a str {
        log
    }

    /// Files that must not be copied with a data directory, such as a server's identity.
    fn not_copied(&self) -> &'static [&'static str];

    fn log_entries(&self) -> LogEntries;

    /// Files that the server reads besides its configuration, such as one that sets the password
    /// before it accepts connections.
    fn files(&self, paths: &Paths, password: &str) -> Vec<ServerFile>;

    fn start(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// The signal for a clean shutdown that does not wait for clients.
    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }

    /// The path of the Unix socket in [`Paths::own`].
    fn socket(&self, own: &Path, port: u16) -> PathBuf {
        let _ = port;
        own.join("s.sock")
    }

    /// How to run the program so that it checks its configuration file and exits.
    fn validation(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// Paths and texts of files that the data directory of a [`Server::validation`] must have.
    fn validation_files(&self, version: &str) -> Vec<(&'static str, String)> {
        let _ = version;
        Vec::new()
    }

    /// How to run the program so that it lists its settings.
    fn listing(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// The names of settings in the output of [`Server::listing`].
    fn listed(&self, printed: &str) -> Vec<String>;

    /// The first setting of `config` that an error in the server's log is about.
    fn rejected(&self, log: &str, config: &Settings) -> Option<Rejected>;

    /// The server's own messages about settings that it corrected or warned about.
    fn notes(&self, log: &str, config: &Settings) -> Vec<String>;

    /// Whether the log says that another process has the port.
    fn is_port_taken(&self, log: &str) -> bool {
        log.contains("Address already in use")
    }

    /// Tries once to log in through the Unix socket, and sets the password unless [`Server::files`]
    /// does.
    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure>;

    /// Changes the password of a server that listens on `address`, for this run only.
    fn set_password(
        &self,
        login: &Login<'_>,
        address: Ipv4Net,
        password: &str,
    ) -> Result<(), Failure>;

    /// The URL of a database, without the password.
    fn url(&self, server: SocketAddr, database: &str) -> String;

    /// Opens a database of a server over TCP. `public_key` is that of
    /// [`LoginAttempt::Ready`].
    fn connect(
        &self,
        server: SocketAddr,
        database: &str,
        password: &str,
        public_key: Option<&[u8]>,
    ) -> Result<Arc<dyn Database>, Failure>;

    /// Memory and disk space that one server needs.
    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs;

    /// The checks on the settings of a server.
    fn checks(&self) -> Vec<&'static Check<Facts>>;

    /// The study's settings, in the server's names and values.
    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let chosen = config.iter();
        chosen
            .map(|(name, value)| (self.plain_name(name), value.clone()))
            .collect()
    }

    /// Defaults of a version for the settings that checks examine; empty if they are not known.
    fn default_settings(&self, version: &str) -> Vec<(&'static str, &'static str)>;

    /// The settings that checks examine, of a server that is yet to be started for this many
    /// connections: the study's, then the laboratory's, then the defaults of the version.
    fn planned_settings(
        &self,
        version: &str,
        connections: u32,
        config: &Settings,
    ) -> BTreeMap<String, String> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let defaults = self.default_settings(version).into_iter().map(owned);
        let connections = allowed_connections(connections).to_string();
        let own = owned(("max_connections", &connections));
        let chosen = self.chosen_settings(config);
        defaults.chain([own]).chain(chosen).collect()
    }

    /// The ways in which its servers replicate.
    fn replication(&self) -> &'static [&'static dyn Replication] {
        &[]
    }

    /// The command that changes a setting of a running server; `live` if that needs no restart.
    fn set_command(&self, name: &str, value: &str, live: bool) -> String;
}

impl fmt::Display for dyn Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl dyn Server {
    /// `None` if the engine's servers do not replicate in this way.
    pub fn replicates_as(&self, kind: &str) -> Option<&'static dyn Replication> {
        let mut kinds = self.replication().iter().copied();
        kinds.find(|known| known.name() == kind)
    }
}

impl PartialEq for dyn Server {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Server {}

/// Whether two spellings name the same setting.
pub(crate) fn same_name(server: &dyn Server, one: &str, other: &str) -> bool {
    server.plain_name(one) == server.plain_name(other)
}

/// The listening address unless a site has a network of its own: only this host may connect.
pub const LOOPBACK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::LOCALHOST, 32);

/// The files and addresses of one server.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The server's number in its trial, counted from 1.
    pub number: u32,
    /// The laboratory's directory, which the server can read but not write.
    pub dir: PathBuf,
    /// The server's own directory, inaccessible to others. It contains the directory `tmp`.
    pub own: PathBuf,
    pub data: PathBuf,
    /// The directory of the transaction log; `None` if it is in the data directory.
    pub log: Option<PathBuf>,
    /// An empty directory that nobody can write to.
    pub closed: PathBuf,
    /// The Unix socket.
    pub socket: PathBuf,
    /// The user that connects dyno to the socket; `None` for this process's.
    pub user: Option<String>,
    /// The listening address, with the prefix length of the network from which clients may connect.
    pub address: Ipv4Net,
    /// The listening port.
    pub port: u16,
    /// The maximum number of open connections.
    pub connections: u32,
}

impl Paths {
    pub fn config(&self, server: &dyn Server) -> PathBuf {
        self.dir.join(server.config_file())
    }
}

/// The entries of a data directory that belong to the transaction log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntries {
    /// Prefixes of their names.
    pub prefixes: &'static [&'static str],
    /// Whether the server finds these entries in another directory through links; otherwise, its
    /// configuration names [`Paths::log`].
    pub are_linked: bool,
}

impl LogEntries {
    /// Whether an entry with this name belongs to the log.
    pub fn include(&self, name: &OsStr) -> bool {
        let name = name.as_encoded_bytes();
        let mut prefixes = self.prefixes.iter();
        prefixes.any(|prefix| name.starts_with(prefix.as_bytes()))
    }
}

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invocation {
    pub program: PathBuf,
    pub arguments: Vec<OsString>,
    /// The file for standard input, if any.
    pub input: Option<PathBuf>,
}

impl Invocation {
    pub fn new(
        program: impl AsRef<Path>,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        Self {
            program: program.as_ref().to_owned(),
            arguments: arguments.into_iter().map(Into::into).collect(),
            input: None,
        }
    }

    /// A server program that reads its configuration file, which `option` names.
    pub(crate) fn with_config(
        installed: &Installed,
        option: &str,
        paths: &Paths,
        others: &[&str],
    ) -> Self {
        let config = format!("{option}={}", paths.config(installed.engine).display());
        let others = others.iter().map(|option| (*option).to_owned());
        Self::new(&installed.program, [config].into_iter().chain(others))
    }
}

/// How to initialize a data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Initialization {
    /// The configuration file, which may contain secrets.
    pub config: String,
    /// The name in [`Paths::dir`] and the text of another file that the programs read.
    pub script: (&'static str, String),
    /// The programs to run, in order.
    pub run: Vec<Invocation>,
}

/// A file that a server reads when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// The name in [`Paths::dir`].
    pub name: &'static str,
    /// May contain secrets.
    pub text: String,
    /// Whether the file is removed once the server is ready.
    pub is_temporary: bool,
}

/// A setting that a server rejected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rejected {
    /// As written in the study.
    pub name: String,
    /// The server's error message.
    pub words: String,
    /// Whether the server has no setting of this name.
    pub is_unknown: bool,
}

/// How to log in to a server of the laboratory through its Unix socket.
#[derive(Debug, Clone, Copy)]
pub struct Login<'a> {
    /// The server's name for messages.
    pub server: &'a str,
    pub socket: &'a Path,
    /// The password of the server's only account.
    pub password: &'a str,
}

impl Login<'_> {
    /// The failure of a login that the server refused.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        Failure::server(format!("cannot log in to {}: {error}", self.server))
            .perhaps(error.remedy())
    }
}

/// How long an attempt to log in may take before the server's process is checked again.
pub(crate) const LOGIN_ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The result of an attempt to log in.
#[derive(Debug)]
pub enum LoginAttempt {
    Ready {
        /// The server's RSA key (PEM) for passwords over TCP, if it has one.
        public_key: Option<Vec<u8>>,
    },
    /// The server does not accept connections yet.
    NotYet,
    /// The server refused the login.
    Refused(Failure),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// Size of a data directory with the rows.
    pub data_bytes: u64,
    /// Growth of the log beyond the size in the template.
    pub log_bytes: u64,
    /// Memory, with a full buffer pool.
    pub memory_bytes: u64,
    /// The part of `memory_bytes` for the buffer pool.
    pub pool_bytes: u64,
}
