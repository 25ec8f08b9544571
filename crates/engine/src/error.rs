//! Errors of engines, and their remedies.

use std::path::PathBuf;

use client::TargetError;

pub use crate::cause::Cause;
use crate::data::PrepareError;
use crate::server_error::ServerError;

#[derive(Debug, thiserror::Error)]
pub enum EngineError {
    /// The server is not installed.
    #[error("no {engine} server was found {}", searched.describe())]
    NoServer {
        engine: &'static str,
        /// How to install it.
        remedy: &'static str,
        /// Where dyno searched for it.
        searched: Searched,
    },
    /// Only other versions are installed.
    #[error("the study requires {engine} {wanted}, but found only {}", found.join(" and "))]
    WrongVersion {
        engine: &'static str,
        /// The version, or the beginning of one.
        wanted: String,
        /// Each as `10.11.14 (/usr/sbin/mariadbd)`.
        found: Vec<String>,
    },
    /// A server program does not run.
    #[error("{} does not run: {words}", program.display())]
    BadProgram {
        program: PathBuf,
        /// What it printed.
        words: String,
    },
    /// A setting that only dyno may set.
    #[error("the setting {name} is dyno's own: {why}")]
    ReservedSetting {
        /// As written in the study.
        name: String,
        /// Why, or what to use instead.
        why: &'static str,
    },
    /// A setting that cannot be written to a configuration file.
    #[error("the setting {name:?} cannot be written: {why}")]
    BadSetting {
        /// As written in the study.
        name: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// The server refuses the login.
    #[error("cannot log in to {server}: {words}")]
    Login {
        server: String,
        /// In its own words.
        words: String,
        /// What to do about it.
        remedy: Option<&'static str>,
    },
    /// The data could not be loaded.
    #[error("cannot build the data: {0}")]
    Data(#[from] PrepareError),
    /// The work was interrupted.
    #[error("interrupted")]
    Interrupted,
    /// Any other error.
    #[error("{message}")]
    Failed {
        cause: Cause,
        /// What failed, and why.
        message: String,
        /// What to do about it.
        remedy: Option<String>,
    },
}

/// Where a server was searched for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Searched {
    /// In the directory that the study names.
    Basedir(PathBuf),
    /// On `PATH` and in the usual directories.
    Host,
}

impl Searched {
    fn describe(&self) -> String {
        match self {
            Self::Basedir(path) => format!("below {}", path.display()),
            Self::Host => "on PATH or in the usual directories".to_owned(),
        }
    }
}

impl From<TargetError> for EngineError {
    fn from(error: TargetError) -> Self {
        let cause = match error {
            TargetError::Host { .. } => Cause::Server,
            TargetError::Url(_) | TargetError::Tls(_) => Cause::Usage,
        };
        Self::failed(cause, error)
    }
}

impl From<ServerError> for EngineError {
    fn from(error: ServerError) -> Self {
        Self::Failed {
            cause: Cause::Server,
            message: error.message,
            remedy: error.remedy.map(str::to_owned),
        }
    }
}

impl EngineError {
    /// A failure without a remedy.
    pub fn failed(cause: Cause, message: impl std::fmt::Display) -> Self {
        Self::Failed {
            cause,
            message: message.to_string(),
            remedy: None,
        }
    }

    pub fn cause(&self) -> Cause {
        match self {
            Self::ReservedSetting { .. } | Self::BadSetting { .. } => Cause::Usage,
            Self::Data(PrepareError::Interrupted) | Self::Interrupted => Cause::Interrupted,
            Self::Failed { cause, .. } => *cause,
            Self::NoServer { .. }
            | Self::WrongVersion { .. }
            | Self::BadProgram { .. }
            | Self::Login { .. }
            | Self::Data(_) => Cause::Server,
        }
    }

    /// What the user can do about it.
    pub fn remedy(&self) -> Option<String> {
        let text = match self {
            Self::NoServer { remedy, .. } => remedy,
            Self::WrongVersion { .. } => {
                "install that version and name its directory with server.basedir, or change server.version"
            }
            Self::BadProgram { .. } => {
                "make sure that the user that servers run as may execute it and read its libraries"
            }
            Self::ReservedSetting { .. } => "remove it from server.config",
            Self::BadSetting { .. } => "correct or remove it in server.config",
            Self::Login { remedy, .. } => return remedy.map(str::to_owned),
            Self::Data(error) => return error.remedy(),
            Self::Failed { remedy, .. } => return remedy.clone(),
            Self::Interrupted => return None,
        };
        Some(text.to_owned())
    }
}
