//! The errors of the laboratory, and their remedies.

use std::io;
use std::path::{Path, PathBuf};

use engine::EngineError;

use plan::shown_bytes;

/// An error of the laboratory.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The operating system refused.
    #[error("cannot {what} {}: {source}", path.display())]
    Io {
        /// The attempted operation, for example `write`.
        what: &'static str,
        /// Where.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The disk has too little space.
    #[error(
        "{}: {what} needs {}; only {} is available", path.display(), shown_bytes(*needed_bytes),
        shown_bytes(*free_bytes)
    )]
    DiskFull {
        /// What needs the space.
        what: String,
        /// Where.
        path: PathBuf,
        /// What it needs in total.
        needed_bytes: u64,
        /// The space available.
        free_bytes: u64,
    },
    /// The environment names no directory for the cache.
    #[error("no directory for dyno's cache: neither DYNO_CACHE_DIR nor HOME is set")]
    NoCacheDir,
    /// A directory of the cache cannot be trusted.
    #[error("{} {why}", path.display())]
    Untrusted {
        /// The directory.
        path: PathBuf,
        /// Why not.
        why: String,
    },
    /// A directory that is not empty lacks the marker of dyno's directories.
    #[error(
        "{} is not empty and was not created by dyno: it has no file {marker}", path.display()
    )]
    Unmarked {
        /// The directory.
        path: PathBuf,
        /// The marker's name.
        marker: &'static str,
    },
    /// Another user could replace a directory.
    #[error("{} cannot be used safely: {} {why}", path.display(), dir.display())]
    Exposed {
        /// The directory to be used.
        path: PathBuf,
        /// The one, above it or itself, that another user controls.
        dir: PathBuf,
        /// Who controls it.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// A file of a template belongs to another account than the servers'.
    #[error("{} belongs to user {owner}; servers run as user {uid}", path.display())]
    ForeignData {
        /// The file or directory.
        path: PathBuf,
        owner: u32,
        /// The expected owner.
        uid: u32,
    },
    /// The servers' user cannot enter the cache.
    #[error("servers run as user {user}, who may not enter {}", path.display())]
    Unreachable {
        /// The directory that the user cannot enter.
        path: PathBuf,
        /// The user's name.
        user: String,
    },
    /// The paths of sockets in the cache would be too long for the kernel.
    #[error(
        "the path {} is too long for sockets in it: the maximum is {limit} bytes", path.display()
    )]
    PathTooLong {
        /// The cache.
        path: PathBuf,
        /// The maximum length, in bytes.
        limit: usize,
    },
    /// `volume.directory` is not suitable for servers' data.
    #[error("{} {why}", path.display())]
    UnfitDirectory {
        /// The directory of the study.
        path: PathBuf,
        /// What is wrong with it.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// This host cannot, or this user may not, limit what a server uses.
    #[error("cannot enforce {key}: {why}")]
    NoLimit {
        /// What the study limits.
        key: &'static str,
        /// What is missing.
        why: String,
        /// How to get it.
        remedy: String,
    },
    /// This host cannot, or this user may not, set up a container.
    #[error("cannot set up a container: {why}")]
    NoContainer {
        /// What is missing.
        why: String,
        /// How to get it.
        remedy: &'static str,
    },
    /// This host cannot, or this user may not, give servers a network of their own or change it.
    #[error("cannot set up a network for the members of a cluster: {why}")]
    NoNetwork {
        /// What is missing.
        why: String,
        /// How to get it.
        remedy: String,
    },
    /// This host cannot, or this user may not, make a volume as the study describes it.
    #[error("cannot set up the volume: {why}")]
    NoVolume {
        /// What is missing or wrong.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// A guest cannot be booted.
    #[error("the guest cannot be booted: {why}")]
    NoGuest {
        /// What is missing or wrong.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// A volume's devices cannot have the study's IO scheduler.
    #[error("cannot set the IO scheduler: {why}")]
    NoScheduler {
        /// What is missing or wrong.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// The same of the volume of a server's log.
    #[error("[log_volume]: {0}")]
    OfLog(Box<LabError>),
    /// Servers cannot run on another host.
    #[error("host {host} cannot be used: {why}")]
    UnusableHost {
        /// Its name for ssh.
        host: String,
        /// What is wrong with it.
        why: String,
        /// What to do about it.
        remedy: String,
    },
    /// Another host that shares the cache has a run there.
    #[error("it belongs to a run of host {host}")]
    OtherHost {
        /// Its name.
        host: String,
    },
    /// A program does not end.
    #[error("{program} did not end within {limit_s} s")]
    Endless {
        /// Its name.
        program: String,
        /// How long it was waited for.
        limit_s: u64,
    },
    /// `DYNO_CACHE_LIMIT` is not a size.
    #[error("DYNO_CACHE_LIMIT is {0:?}, which is not a size")]
    CacheLimit(String),
    /// dyno runs as root, and there is no other user to run a server as.
    #[error("servers refuse to run as root, and no other user exists to run them")]
    NoAccount,
    /// A program that starts servers is missing.
    #[error("cannot run {program}: {source}")]
    NoProgram {
        /// Its name.
        program: String,
        /// The operating system's error.
        source: io::Error,
    },
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The server refused a setting of the study.
    #[error("{server} refused the setting {name}: {words}")]
    RejectedSetting {
        server: String,
        /// As written in the study.
        name: String,
        /// The server's message.
        words: String,
        /// A setting with a similar name, if the server does not know this one.
        near: Option<String>,
    },
    /// Another process listens on the port.
    #[error("port {port} is taken{}", by.as_ref().map_or(String::new(), |by| format!(" by {by}")))]
    PortTaken {
        /// The port of the study.
        port: u16,
        /// The process's name and ID, if this user may see them.
        by: Option<String>,
    },
    /// A server ended before it was ready, or a program that initializes data failed.
    #[error("{server} failed: it {how}; its log ends:\n{log}")]
    NotStarted {
        server: String,
        /// `ended with exit code 1`, `was killed by signal 9`.
        how: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server ended while it was needed, or failed to stop properly.
    #[error("{0}")]
    Ended(String),
    /// A fault was to strike or heal a server that does not run.
    #[error("{server} is not running")]
    NotRunning { server: String },
    /// A process did not react to a signal.
    #[error("a process of {server} did not obey {signal} within 10 s")]
    Disobeyed {
        server: String,
        /// The signal's name.
        signal: &'static str,
    },
    /// A fault left too few members of a cluster.
    #[error("{0}")]
    QuorumLost(String),
    /// A fault cannot be done to what a trial has.
    #[error("{0}")]
    Impossible(String),
    /// A server runs but does not answer.
    #[error("{server} did not {what} within {limit_s} s; its log ends:\n{log}")]
    TooSlow {
        server: String,
        /// `answer` or `stop`.
        what: &'static str,
        /// How long dyno waited.
        limit_s: u64,
        /// The last lines of its log.
        log: String,
    },
    /// A process of a dead run cannot be ended.
    #[error("process {pid} still uses it: {why}")]
    StillRunning {
        /// The process.
        pid: u32,
        /// Why not.
        why: String,
    },
    /// The user interrupted.
    #[error("interrupted while preparing the servers; nothing was left behind")]
    Interrupted,
}

impl LabError {
    /// What the user can do about it.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::Io { source, .. } => return io_remedy(source),
            Self::DiskFull { .. } => {
                "free some disk space, use less data, or choose another disk: DYNO_CACHE_DIR for dyno's cache, volume.directory for the servers' data"
            }
            Self::NoCacheDir => "set DYNO_CACHE_DIR to a directory with enough space",
            Self::Untrusted { .. } | Self::Unreachable { .. } => {
                "set DYNO_CACHE_DIR to a directory of your own, such as /var/cache/dyno"
            }
            Self::Unmarked { path, .. } => {
                return Some(format!(
                    "set DYNO_CACHE_DIR to a directory that is empty or does not exist, such as {}; \
                     if this one is the cache of an older dyno, remove it",
                    path.join("dyno").display()
                ));
            }
            Self::ForeignData { .. } => {
                "remove the prepared data with dyno clean --templates, and run again"
            }
            Self::Exposed { remedy, .. } => return Some(remedy.clone()),
            Self::PathTooLong { .. } => "set DYNO_CACHE_DIR to a directory with a shorter path",
            Self::UnfitDirectory { remedy, .. } => return Some(remedy.clone()),
            Self::NoLimit { remedy, .. }
            | Self::NoNetwork { remedy, .. }
            | Self::NoVolume { remedy, .. }
            | Self::NoGuest { remedy, .. }
            | Self::NoScheduler { remedy, .. }
            | Self::UnusableHost { remedy, .. } => {
                return Some(remedy.clone());
            }
            Self::OfLog(error) => return error.remedy(),
            Self::NoContainer { remedy, .. } => remedy,
            Self::CacheLimit(_) => "write a size such as 20G, 500M or a number of bytes",
            Self::NoAccount => "install a server's package, which creates a user for it",
            Self::NoProgram { .. } => "install the package util-linux",
            Self::Engine(error) => return error.remedy(),
            Self::RejectedSetting {
                near: Some(near), ..
            } => {
                return Some(format!(
                    "did you mean `{near}`? Correct or remove it in server.config"
                ));
            }
            Self::RejectedSetting { near: None, .. } => "correct or remove it in server.config",
            Self::PortTaken { .. } => "remove server.port to use a free port, or stop that process",
            Self::StillRunning { .. } => "end it, then run dyno clean",
            Self::OtherHost { .. } => {
                "run dyno clean on that host; if it no longer exists, delete the directory"
            }
            Self::Endless { .. } => {
                "a disk, a daemon, or the network may hang: see the kernel's messages (dmesg)"
            }
            Self::QuorumLost(_) => {
                "break fewer members at once, or add expect_outage = true to the fault if that is what the study is about"
            }
            Self::NotStarted { .. }
            | Self::Ended(_)
            | Self::NotRunning { .. }
            | Self::Disobeyed { .. }
            | Self::Impossible(_)
            | Self::TooSlow { .. }
            | Self::Interrupted => return None,
        };
        Some(text.to_owned())
    }

    /// An error of the volume of a server's log.
    pub(crate) fn of_log(self) -> Self {
        Self::OfLog(Box::new(self))
    }

    /// Turns an error of the operating system into this type; for `map_err`.
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

    /// Whether a full disk is the cause.
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
            "free some disk space, or choose another disk: DYNO_CACHE_DIR for dyno's cache, volume.directory for the servers' data"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "remount it read-write (mount -o remount,rw), or set DYNO_CACHE_DIR to a directory on another disk"
        }
        io::ErrorKind::PermissionDenied => {
            "run as a user with permission, or set DYNO_CACHE_DIR to a directory of your own"
        }
        _ => return None,
    };
    Some(text.to_owned())
}
