//! Failures of the laboratory, as shown to the user.

use engine::EngineError;
use engine::data::PrepareError;
use plan::Span;

use crate::error::LabError;

pub use engine::Cause;

/// Why something ended early: what failed, why, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// What caused it.
    pub cause: Cause,
    /// What failed, where, and why, with the server's message if there is one.
    pub message: String,
    /// What to do about it.
    pub remedy: Option<String>,
    /// The location in the study that caused it.
    pub span: Option<Span>,
    /// Whether the same servers would fail again in the same way, because one of them did not start.
    pub recurs: bool,
}

impl Failure {
    /// A failure without a remedy.
    pub fn new(cause: Cause, message: impl std::fmt::Display) -> Self {
        Self {
            cause,
            message: message.to_string(),
            remedy: None,
            span: None,
            recurs: false,
        }
    }

    /// Adds a remedy, if there is one.
    pub fn remedy(mut self, remedy: Option<impl Into<String>>) -> Self {
        self.remedy = remedy.map(Into::into);
        self
    }

    /// Adds the location in the study that caused it.
    pub fn at(mut self, span: Span) -> Self {
        self.span = Some(span);
        self
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl From<LabError> for Failure {
    fn from(error: LabError) -> Self {
        let remedy = error.remedy();
        let recurs = matches!(
            &error,
            LabError::RejectedSetting { .. } | LabError::NotStarted { .. }
        );
        let cause = match &error {
            LabError::Interrupted => Cause::Interrupted,
            LabError::Engine(error) => error.cause(),
            LabError::NoCacheDir
            | LabError::Untrusted { .. }
            | LabError::Unmarked { .. }
            | LabError::Exposed { .. }
            | LabError::Unreachable { .. }
            | LabError::PathTooLong { .. }
            | LabError::CacheLimit(_)
            | LabError::UnfitDirectory { .. }
            | LabError::NoLimit { .. }
            | LabError::NoContainer { .. }
            | LabError::NoVolume { .. }
            | LabError::NoScheduler { .. }
            | LabError::OfLog(_) => Cause::Usage,
            _ => Cause::Server,
        };
        Self {
            recurs,
            ..Self::new(cause, error).remedy(remedy)
        }
    }
}

impl From<EngineError> for Failure {
    fn from(error: EngineError) -> Self {
        Self::new(error.cause(), &error).remedy(error.remedy())
    }
}

impl From<PrepareError> for Failure {
    fn from(error: PrepareError) -> Self {
        Self::new(error.cause(), &error).remedy(error.remedy())
    }
}
