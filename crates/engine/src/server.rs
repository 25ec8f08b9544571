//! What an engine provides so that the laboratory can start its servers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use client::ServerPublicKey;
use measure::finding::check::Check;
use plan::{Failure, StaticSettings};
use rustix::process::Signal;

use crate::checks::{Defaults, ELSEWHERE, Facts, defaults_of};
use crate::database::{Access, Database};
use crate::engine::Engine;
use crate::launch::{
    Initialization, Invocation, LogEntries, Login, LoginAttempt, Needs, Paths, ServerFile,
};
use crate::log::Wording;
use crate::program::Installed;
use crate::replication::Replication;
use crate::settings::{Settings, allowed_connections};

/// What is the same for all servers of an engine.
#[derive(Debug)]
pub struct ServerTraits {
    /// Names of the server program, preferred first.
    pub programs: &'static [&'static str],
    /// Further directories in which packages install the program, preferred first.
    pub directories: fn() -> Vec<PathBuf>,
    /// The user that the package creates for servers.
    pub user: &'static str,
    pub how_to_install: &'static str,
    /// The arguments with which the program prints its version.
    pub version_arguments: &'static [&'static str],
    pub config_file: &'static str,
    /// The option that names the configuration file.
    pub config_option: &'static str,
    /// The arguments with which the program checks its configuration file and exits.
    pub validation: &'static [&'static str],
    /// The signal for a clean shutdown that does not wait for clients.
    pub stop_signal: Signal,
    /// The name of the Unix socket for a port, in [`Paths::own`].
    pub socket: fn(u16) -> String,
    /// Scheme and user of URLs.
    pub url: &'static str,
    /// Files that must not be copied with a data directory, such as a server's identity.
    pub not_copied: &'static [&'static str],
    /// The file of a data directory with the ID of the server's process. The server does not start while another
    /// process of its user has that ID.
    pub process_file: Option<&'static str>,
    pub log_entries: LogEntries,
    /// Settings for loading data fast, and for having all of it in the files after shutdown.
    pub loading_settings: StaticSettings,
    /// A setting's name in the server's own spelling.
    pub plain_name: fn(&str) -> String,
    /// Words in the plain names of settings whose values may be secrets.
    pub secret_words: &'static str,
    /// Why a study cannot set a setting; `None` if it can.
    pub reserved_setting: fn(&str) -> Option<&'static str>,
    /// Whether a setting determines the format of data files; its name is in lower case, with `_`.
    pub decides_format: fn(&str) -> bool,
    /// The names of settings in the output of [`Server::listing`].
    pub listed: fn(&str) -> Vec<String>,
    /// How the server's log mentions settings.
    pub wording: Wording,
    /// The error in the output of a failed initialization, without advice for interactive use.
    pub initialization_error: fn(&str) -> &str,
    /// The command that changes a setting of a running server; `true` if that needs no restart.
    pub set_command: fn(&str, &str, bool) -> String,
    /// Queries the name and value of settings that differ from the defaults, ordered by name.
    pub changed_settings: &'static str,
    /// For the settings that checks examine.
    pub defaults: Defaults,
    /// The checks on settings, in the order of the reference page.
    pub checks: &'static [Check<Facts>],
    /// The ways in which servers replicate.
    pub replication: &'static [&'static dyn Replication],
}

/// An engine whose servers the laboratory starts. The engine specifies what to write and what to
/// run; the laboratory does so as an unprivileged user.
pub trait Server: Engine {
    fn traits(&self) -> &ServerTraits;

    /// The version with the packager's additions, for example `10.11.14-MariaDB-0+deb12u2`, from
    /// the program's output; `None` if the program belongs to another engine.
    fn build(&self, printed: &str) -> Result<Option<String>, String>;

    /// Rejects settings that cannot be written to a configuration file, or that only the
    /// laboratory may set.
    fn check_settings(&self, config: &Settings) -> Result<(), Failure>;

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

    /// Files that the server reads besides its configuration, such as one that sets the password
    /// before it accepts connections.
    fn files(&self, paths: &Paths, password: &str) -> Vec<ServerFile>;

    /// Paths and texts of files that the data directory of a validation must have.
    fn validation_files(&self, _version: &str) -> Vec<(&'static str, String)> {
        Vec::new()
    }

    /// How to run the program so that it lists its settings.
    fn listing(&self, installed: &Installed, paths: &Paths) -> Invocation;

    /// Tries once to log in through the Unix socket, and sets the password unless [`Server::files`]
    /// does.
    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure>;

    /// Memory and disk space that one server needs.
    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs;

    /// The study's settings, in the server's names and values.
    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let plain = self.traits().plain_name;
        let chosen = config.iter();
        chosen
            .map(|(name, value)| (plain(name), value.clone()))
            .collect()
    }
}

impl fmt::Display for dyn Server + '_ {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.title())
    }
}

impl dyn Server + '_ {
    /// `None` if the engine's servers do not replicate in this way.
    pub fn replicates_as(&self, kind: &str) -> Option<&'static dyn Replication> {
        let mut kinds = self.traits().replication.iter().copied();
        kinds.find(|known| known.traits().cluster.name == kind)
    }

    pub fn start(&self, installed: &Installed, paths: &Paths) -> Invocation {
        let config = paths.config_option(self.traits().config_option);
        Invocation::new(&installed.program, [config])
    }

    /// How to run the program so that it checks its configuration file and exits.
    pub fn validation(&self, installed: &Installed, paths: &Paths) -> Invocation {
        let mut invocation = self.start(installed, paths);
        let options = self.traits().validation.iter();
        invocation.arguments.extend(options.map(Into::into));
        invocation
    }

    /// The path of the Unix socket in [`Paths::own`].
    pub fn socket(&self, own: &Path, port: u16) -> PathBuf {
        own.join((self.traits().socket)(port))
    }

    /// The URL of a database, without the password.
    pub fn url(&self, server: SocketAddr, database: &str) -> String {
        format!("{}@{server}/{database}", self.traits().url)
    }

    /// Opens a database of a server over TCP. `public_key` is that of [`LoginAttempt::Ready`].
    pub fn connect(
        &self,
        server: SocketAddr,
        database: &str,
        password: &str,
        public_key: Option<&[u8]>,
    ) -> Result<Arc<dyn Database>, Failure> {
        let mut access = Access::private(Some(password));
        if let Some(pem) = public_key {
            // Another program could get the port once this server is dead.
            access.tls.server_public_key = ServerPublicKey::Known(pem.to_vec());
        }
        self.open(&self.url(server, database), &access, None)
    }

    /// Whether the log says that another process has the port.
    pub fn is_port_taken(&self, log: &str) -> bool {
        log.contains("Address already in use")
    }

    pub fn plain_name(&self, name: &str) -> String {
        (self.traits().plain_name)(name)
    }

    /// Whether the value of a setting may be a secret.
    pub fn is_secret(&self, name: &str, value: &str) -> bool {
        let name = self.plain_name(name);
        let mut words = self.traits().secret_words.split(' ');
        !value.is_empty() && words.any(|word| name.contains(word))
    }

    /// The settings that determine the format of data files, in a canonical order and spelling:
    /// data that was prepared with other values does not fit.
    pub fn format_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let spelled = config
            .iter()
            .map(|(name, value)| (name.to_ascii_lowercase().replace('-', "_"), value.clone()));
        let decides = self.traits().decides_format;
        let mut settings: Vec<_> = spelled.filter(|(name, _)| decides(name)).collect();
        // The sort is stable, so the last of several values of one setting still wins.
        settings.sort_by(|one, other| one.0.cmp(&other.0));
        settings
    }

    /// The settings that checks examine, of a server that is yet to be started for this many
    /// connections: the study's, then the laboratory's, then the defaults of the version.
    pub fn planned_settings(
        &self,
        version: &str,
        connections: u32,
        config: &Settings,
    ) -> BTreeMap<String, String> {
        let owned = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
        let defaults = defaults_of(self.traits().defaults, version).map(owned);
        let connections = allowed_connections(connections).to_string();
        let own = owned(("max_connections", &connections));
        let chosen = self.chosen_settings(config);
        defaults.chain([own]).chain(chosen).collect()
    }

    /// The checks on the settings of a server.
    pub fn checks(&self) -> impl Iterator<Item = &'static Check<Facts>> + use<> {
        ELSEWHERE.iter().chain(self.traits().checks)
    }
}

impl PartialEq for dyn Server {
    fn eq(&self, other: &Self) -> bool {
        self.name() == other.name()
    }
}

impl Eq for dyn Server {}
