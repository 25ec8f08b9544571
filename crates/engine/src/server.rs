//! What the laboratory has to know about an engine to start its servers.

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

/// An engine whose servers the laboratory starts. It says what to write and what to run; the
/// laboratory does so as an unprivileged user.
pub trait Server: Engine {
    /// Names of its server program, preferred first.
    fn programs(&self) -> &'static [&'static str];

    /// Directories besides the usual ones in which packages install it, preferred first.
    fn directories(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    /// The user that its package creates for servers.
    fn user(&self) -> &'static str;

    /// How to install it, for messages.
    fn how_to_install(&self) -> &'static str;

    /// The arguments with which the program prints its version.
    fn version_arguments(&self) -> &'static [&'static str];

    /// The version with the packager's additions, `10.11.14-MariaDB-0+deb12u2`, from the
    /// program's output; `None` if the program belongs to another engine.
    fn build(&self, printed: &str) -> Result<Option<String>, String>;

    /// A setting's name in the server's own spelling.
    fn plain_name(&self, name: &str) -> String;

    /// Whether the value of a setting may be a secret; `name` is a [`Server::plain_name`].
    fn is_secret(&self, name: &str, value: &str) -> bool;

    /// Why a study cannot set the setting of this name; `None` if it can.
    fn reserved_setting(&self) -> fn(&str) -> Option<&'static str>;

    /// Rejects settings that cannot be written to a configuration file, or that only the
    /// laboratory may set.
    fn check_settings(&self, config: &Settings) -> Result<(), Failure>;

    /// Whether a setting decides the format of the data files; `name` is in lower case, with `_`.
    fn decides_format(&self, name: &str) -> bool;

    /// The settings that decide the format of the data files, in a canonical order and spelling:
    /// data that was prepared with other values does not fit.
    fn format_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let spelled = config
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase().replace('-', "_"), value.clone()));
        let mut settings: Vec<_> = spelled
            .filter(|(name, _)| self.decides_format(name))
            .collect();
        // The sort is stable: of two values of one setting, the last still wins.
        settings.sort_by(|one, other| one.0.cmp(&other.0));
        settings
    }

    /// Settings for loading data fast, with all of it in the files after shutdown.
    fn loading_settings(&self) -> &'static [(&'static str, &'static str)];

    /// The name of the configuration file.
    fn config_file(&self) -> &'static str;

    /// The configuration file: the laboratory's settings, then the study's.
    fn configuration(&self, installed: &Installed, paths: &Paths, config: &Settings) -> String;

    /// How to initialize a data directory that has the database `database`, and in which nobody
    /// can log in.
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

    /// Files of a data directory that a copy must not have, such as a server's identity.
    fn not_copied(&self) -> &'static [&'static str];

    /// Which entries of a data directory are its transaction log.
    fn log_entries(&self) -> LogEntries;

    /// Files besides the configuration that the server reads, for instance to set the password
    /// before it accepts connections.
    fn files(&self, paths: &Paths, password: &str) -> Vec<ServerFile>;

    /// How to start the server.
    fn start(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// The signal for an orderly shutdown that does not wait for clients.
    fn stop_signal(&self) -> Signal {
        Signal::TERM
    }

    /// Its Unix socket, in [`Paths::own`].
    fn socket(&self, own: &Path, port: u16) -> PathBuf {
        let _ = port;
        own.join("s.sock")
    }

    /// How to make the program check its configuration file and exit.
    fn validation(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// Files that the data directory of a [`Server::validation`] must have: paths and texts.
    fn validation_files(&self, version: &str) -> Vec<(&'static str, String)> {
        let _ = version;
        Vec::new()
    }

    /// How to make the program list its settings.
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

    /// Tries once to log in through the Unix socket, and sets the password unless
    /// [`Server::files`] do.
    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure>;

    /// Changes the password of a server that listens on `address`, for this run of it only.
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

    /// The memory and disk space that one server needs.
    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs;

    /// The checks on the settings of a server.
    fn checks(&self) -> Vec<&'static Check<Facts>>;

    /// The study's settings, with the server's names and values.
    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let chosen = config.iter();
        chosen
            .map(|(name, value)| (self.plain_name(name), value.clone()))
            .collect()
    }

    /// The defaults of a version, as far as checks look at them; empty if they are not known.
    fn default_settings(&self, version: &str) -> Vec<(&'static str, &'static str)>;

    /// The settings of a server that is yet to be started for this many connections, as far as
    /// checks look at them: the study's, then the laboratory's, then the defaults of the version.
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

    /// How to change a setting of a running server; `live` if it needs no restart.
    fn set_command(&self, name: &str, value: &str, live: bool) -> String;
}

impl fmt::Display for dyn Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl dyn Server {
    /// The way of this name in which its servers replicate.
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

/// Where a server listens unless its site has a network of its own: only this host may connect.
pub const LOOPBACK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::LOCALHOST, 32);

/// The files and addresses of one server.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The server's number in its trial, from 1.
    pub number: u32,
    /// The laboratory's directory, which the server can read but not write.
    pub dir: PathBuf,
    /// The server's own directory, inaccessible to others. It has a directory `tmp`.
    pub own: PathBuf,
    /// Its data directory.
    pub data: PathBuf,
    /// The directory of its transaction log; `None`: it is in the data directory.
    pub log: Option<PathBuf>,
    /// An empty directory that nobody can write to.
    pub closed: PathBuf,
    /// Its Unix socket.
    pub socket: PathBuf,
    /// The user as whom dyno connects to the socket; `None`: this process's.
    pub user: Option<String>,
    /// The address that it listens on, with the prefix length of the network from which clients
    /// may connect.
    pub address: Ipv4Net,
    /// Its port there.
    pub port: u16,
    /// The maximum number of open connections.
    pub connections: u32,
}

impl Paths {
    /// The configuration file of an engine's server.
    pub fn config(&self, server: &dyn Server) -> PathBuf {
        self.dir.join(server.config_file())
    }
}

/// The entries of a data directory that are the server's transaction log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogEntries {
    /// What their names begin with.
    pub prefixes: &'static [&'static str],
    /// Whether the server finds those in another directory by links of their names; otherwise,
    /// its configuration names [`Paths::log`].
    pub are_linked: bool,
}

impl LogEntries {
    /// Whether an entry with this name is one of them.
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
    /// The file for its standard input, if any.
    pub input: Option<PathBuf>,
}

impl Invocation {
    /// A program with arguments.
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
    /// Another file that the programs read: its name in [`Paths::dir`], and its text.
    pub script: (&'static str, String),
    /// The programs to run, in order.
    pub run: Vec<Invocation>,
}

/// A file that a server reads when it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// Its name in [`Paths::dir`].
    pub name: &'static str,
    /// Its text, which may contain secrets.
    pub text: String,
    /// Whether it is removed once the server is ready.
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
    /// Which server, for messages.
    pub server: &'a str,
    /// Its Unix socket.
    pub socket: &'a Path,
    /// The password of its only account.
    pub password: &'a str,
}

impl Login<'_> {
    /// The server refused it.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        Failure::server(format!("cannot log in to {}: {error}", self.server))
            .perhaps(error.remedy())
    }
}

/// How long one attempt to log in may take; then the server's process is checked again.
pub(crate) const LOGIN_ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The result of an attempt to log in.
#[derive(Debug)]
pub enum LoginAttempt {
    /// The login succeeded.
    Ready {
        /// The server's RSA key (PEM) for passwords over TCP, if it has one.
        public_key: Option<Vec<u8>>,
    },
    /// The server does not accept connections yet.
    NotYet,
    /// The server refused the login.
    Refused(Failure),
}

/// The memory and disk space that one server needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Needs {
    /// A data directory with the rows.
    pub data_bytes: u64,
    /// Growth of the log beyond the template's.
    pub log_bytes: u64,
    /// Memory, with a full buffer pool.
    pub memory_bytes: u64,
    /// The buffer pool's part of the memory.
    pub pool_bytes: u64,
}
