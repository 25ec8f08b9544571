//! What can go wrong in the laboratory, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

use engine::EngineError;

use measure::bytes::shown_bytes;

/// A laboratory that could not do its work.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// What was tried, for example `write`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's words.
        source: io::Error,
    },
    /// The disk has too little room.
    #[error(
        "{}: {what} needs {}, and {} are free", path.display(), shown_bytes(*needed_bytes),
        shown_bytes(*free_bytes)
    )]
    DiskFull {
        /// For what.
        what: String,
        /// Where.
        path: PathBuf,
        /// What it takes in all.
        needed_bytes: u64,
        /// What is left now.
        free_bytes: u64,
    },
    /// No place for the cache is known.
    #[error("there is no place for dyno's cache: neither DYNO_CACHE_DIR nor HOME is set")]
    NoCacheDir,
    /// A directory of the cache cannot be trusted.
    #[error("{} {why}", path.display())]
    Untrusted {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A directory that is not empty lacks the marker of those that dyno made.
    #[error(
        "{} is not empty and dyno did not make it: it has no file {}", path.display(),
        crate::home::marker::MARKER
    )]
    Unmarked {
        /// The directory.
        path: PathBuf,
    },
    /// Another user could exchange a directory for another one.
    #[error("{} cannot be used safely: {} {why}", path.display(), dir.display())]
    Exposed {
        /// The directory to be used.
        path: PathBuf,
        /// The one, above it or itself, that is in other hands.
        dir: PathBuf,
        /// In whose.
        why: String,
        /// What to do about that.
        remedy: String,
    },
    /// A file of a template belongs to another account than the servers'.
    #[error("{} belongs to user {owner}, not to user {uid} that servers run as", path.display())]
    ForeignData {
        /// The file or directory.
        path: PathBuf,
        /// Whose it is.
        owner: u32,
        /// Whose it should be.
        uid: u32,
    },
    /// The user a server runs as cannot get to the cache.
    #[error("the user {user} that servers run as may not enter {}", path.display())]
    Unreachable {
        /// The directory that is closed.
        path: PathBuf,
        /// The user's name.
        user: String,
    },
    /// Sockets below the cache would have names the kernel does not take.
    #[error(
        "{} is too long a path for the sockets below it: it may have {limit} bytes", path.display()
    )]
    PathTooLong {
        /// The cache.
        path: PathBuf,
        /// The most that works.
        limit: usize,
    },
    /// `server.directory` is no place for servers' data.
    #[error("{} {why}", path.display())]
    UnfitDirectory {
        /// The directory of the study.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do about that.
        remedy: String,
    },
    /// This host or this user cannot limit a server's CPU time.
    #[error("no CPU quota can be set: {why}")]
    NoCpuQuota {
        /// What is missing.
        why: String,
        /// How to get it.
        remedy: String,
    },
    /// `DYNO_CACHE_LIMIT` is no size.
    #[error("DYNO_CACHE_LIMIT is {0:?}, which is no size")]
    CacheLimit(String),
    /// dyno is root, and there is nobody to run a server as.
    #[error("servers refuse to run as root, and there is no user to run them as")]
    NoAccount,
    /// A program that starts servers is missing.
    #[error("cannot run {program}: {source}")]
    NoProgram {
        /// Its name.
        program: String,
        /// The operating system's words.
        source: io::Error,
    },
    /// The engine's own.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The server refused a setting of the study.
    #[error("{server} refused the setting {name}: {words}")]
    RejectedSetting {
        /// Which server.
        server: String,
        /// As written in the study.
        name: String,
        /// The server's own words.
        words: String,
        /// A setting of the server with a similar name, where it does not know this one.
        near: Option<String>,
    },
    /// Somebody else listens there.
    #[error("port {port} is taken{}", by.as_ref().map_or(String::new(), |by| format!(" by {by}")))]
    PortTaken {
        /// The port of the study.
        port: u16,
        /// Its name and process, if the host tells.
        by: Option<String>,
    },
    /// A server ended before it was ready.
    #[error("{server} did not start: it {how}; its log ends:\n{log}")]
    Died {
        /// Which server.
        server: String,
        /// `ended with exit code 1`, `was killed by signal 9`.
        how: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server ended while it was needed, or otherwise than it was asked to.
    #[error("{0}")]
    Ended(String),
    /// A server runs and does not answer.
    #[error("{server} did not {what} within {limit_s} s; its log ends:\n{log}")]
    TooSlow {
        /// Which server.
        server: String,
        /// `answer` or `stop`.
        what: &'static str,
        /// How long it was given.
        limit_s: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A process of a dead dyno is there and stays there.
    #[error("process {pid} still uses it: {why}")]
    Undead {
        /// The process.
        pid: u32,
        /// What is in the way.
        why: String,
    },
    /// The user asked to stop.
    #[error("interrupted while preparing the servers; nothing of it is left")]
    Interrupted,
}

impl LabError {
    /// What the user can do about it.
    #[must_use]
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::Io { source, .. } => return io_remedy(source),
            Self::DiskFull { .. } => {
                "free some space, ask for less data, or name another disk: DYNO_CACHE_DIR for dyno's cache, server.directory for the servers' data"
            }
            Self::NoCacheDir => "set DYNO_CACHE_DIR to a directory that may fill up",
            Self::Untrusted { .. } | Self::Unreachable { .. } => {
                "name a directory of your own with DYNO_CACHE_DIR, such as /var/cache/dyno"
            }
            Self::Unmarked { path } => {
                return Some(format!(
                    "choose a directory that is empty or not there yet, such as {}, with \
                     DYNO_CACHE_DIR; if this one is the cache of an older dyno, remove it",
                    path.join("dyno").display()
                ));
            }
            Self::ForeignData { .. } => {
                "remove the prepared data (dyno clean --templates), and run again"
            }
            Self::Exposed { remedy, .. } => return Some(remedy.clone()),
            Self::PathTooLong { .. } => "name a shorter directory with DYNO_CACHE_DIR",
            Self::UnfitDirectory { remedy, .. } => return Some(remedy.clone()),
            Self::NoCpuQuota { remedy, .. } => return Some(remedy.clone()),
            Self::CacheLimit(_) => "write it like 20G, 500M or plain bytes",
            Self::NoAccount => "install a server's package, which makes a user for it",
            Self::NoProgram { program, .. } if program == crate::process::SETPRIV => {
                "install the package util-linux"
            }
            Self::NoProgram { .. } => "install it, or name another server with server.basedir",
            Self::Engine(error) => return error.remedy(),
            Self::RejectedSetting {
                near: Some(near), ..
            } => {
                return Some(format!(
                    "did you mean `{near}`? Correct or remove it in server.config"
                ));
            }
            Self::RejectedSetting { near: None, .. } => "correct or remove it in server.config",
            Self::PortTaken { .. } => {
                "leave server.port out to get a free one, or end that process"
            }
            Self::Undead { .. } => "end it by hand, then run: dyno clean",
            Self::Died { .. } | Self::Ended(_) | Self::TooSlow { .. } | Self::Interrupted => {
                return None;
            }
        };
        Some(text.to_owned())
    }

    /// An error of the operating system as a closure for `map_err`.
    pub(crate) fn at<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + use<'a> {
        move |source| Self::Io {
            what,
            path: path.to_owned(),
            source,
        }
    }

    /// Whether it came from a disk without room.
    pub(crate) fn is_disk_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => matches!(
                source.kind(),
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded
            ),
            _ => false,
        }
    }
}

fn io_remedy(error: &io::Error) -> Option<String> {
    let text = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space, or name another disk: DYNO_CACHE_DIR for dyno's cache, server.directory for the servers' data"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "remount it read-write (mount -o remount,rw), or name a directory on another disk with DYNO_CACHE_DIR"
        }
        io::ErrorKind::PermissionDenied => {
            "run as a user who may, or name a directory of your own with DYNO_CACHE_DIR"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
