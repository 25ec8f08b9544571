//! What the laboratory writes and runs for a server, and how it logs in to it.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ipnet::Ipv4Net;
use plan::Failure;

/// The listening address unless a site has a network of its own: only this host may connect.
pub const LOOPBACK: Ipv4Net = Ipv4Net::new_assert(Ipv4Addr::LOCALHOST, 32);
/// How long an attempt to log in may take before the server's process is checked again.
pub(crate) const LOGIN_ATTEMPT_LIMIT: Duration = Duration::from_secs(2);

/// The files and addresses of one server.
#[derive(Debug, Clone)]
pub struct Paths {
    /// The server's number in its trial, counted from 1.
    pub number: u32,
    /// The laboratory's directory, which the server can read but not write.
    pub dir: PathBuf,
    /// The name of the configuration file in `dir`.
    pub config_file: &'static str,
    /// The server's own directory, inaccessible to others. It contains the directory `tmp`.
    pub own: PathBuf,
    pub data: PathBuf,
    /// The directory of the transaction log; `None` if it is in the data directory.
    pub log: Option<PathBuf>,
    /// An empty directory that nobody can write to.
    pub closed: PathBuf,
    pub socket: PathBuf,
    /// The listening address, with the prefix length of the network from which clients may connect.
    pub address: Ipv4Net,
    pub port: u16,
    pub connections: u32,
}

impl Paths {
    pub fn config(&self) -> PathBuf {
        self.dir.join(self.config_file)
    }

    /// The option that names the configuration file.
    pub(crate) fn config_option(&self, option: &str) -> String {
        format!("{option}={}", self.config().display())
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
}

/// How to initialize a data directory.
pub struct Initialization {
    /// The configuration file, which may contain secrets.
    pub config: String,
    /// The name in [`Paths::dir`] and the text of another file that the programs read.
    pub script: (&'static str, String),
    /// The programs to run, in order.
    pub run: Vec<Invocation>,
}

/// A file that a server, a cluster manager, or a service reads.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerFile {
    /// The name in the laboratory's directory for the program, such as [`Paths::dir`].
    pub name: &'static str,
    /// May contain secrets.
    pub text: String,
    /// The version for the result, without secrets; `None` if the result keeps nothing.
    pub kept: Option<String>,
    /// Whether the file is removed once the server is ready.
    pub is_temporary: bool,
    pub is_executable: bool,
}

impl ServerFile {
    /// A file that stays, but that the result does not keep.
    pub fn new(name: &'static str, text: impl Into<String>) -> Self {
        Self {
            name,
            text: text.into(),
            kept: None,
            is_temporary: false,
            is_executable: false,
        }
    }
}

impl fmt::Debug for ServerFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServerFile({})", self.name)
    }
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

/// How to log in to a server of the laboratory through its Unix socket. Does not implement `Debug`,
/// so that nothing prints the password.
#[derive(Clone, Copy)]
pub struct Login<'a> {
    /// The server's name for messages.
    pub server: &'a str,
    pub socket: &'a Path,
    /// The password of the server's only account.
    pub password: &'a str,
}

impl Login<'_> {
    /// The failure of a login that the server refused, or of a statement that followed it.
    pub(crate) fn refused(&self, error: &client::Error) -> Failure {
        let server = self.server;
        let message = match error {
            client::Error::Statement { .. } => format!("{server}: {error}"),
            _ => format!("cannot log in to {server}: {error}"),
        };
        Failure::server(message).perhaps(error.remedy())
    }

    /// The outcome of an attempt, whose result is the server's public key if it has one.
    pub(crate) fn attempted(&self, result: Result<Option<Vec<u8>>, client::Error>) -> LoginAttempt {
        use client::Error;
        match result {
            Ok(public_key) => LoginAttempt::Ready { public_key },
            Err(Error::Connect { .. } | Error::Timeout { .. } | Error::Lost(_)) => {
                LoginAttempt::NotYet
            }
            Err(error) => LoginAttempt::Refused(self.refused(&error)),
        }
    }
}

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
