//! Failures that end dyno, and their exit codes.

use std::fmt;
use std::process::ExitCode;

/// The exit codes, as the README lists them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// A threshold was not met.
    Threshold = 1,
    /// Bad usage or a bad study.
    Usage = 2,
    /// A server could not be started or reached, or refused the load.
    Server = 3,
    /// The run was interrupted; partial results are kept.
    Interrupted = 4,
    /// A bug in dyno.
    Internal = 5,
}

/// Why dyno ends: what failed, why, and what to do.
#[derive(Debug)]
pub(crate) struct Failure {
    exit: Exit,
    message: String,
    remedy: Option<String>,
}

impl Failure {
    pub(crate) fn new(exit: Exit, message: impl fmt::Display) -> Self {
        Self {
            exit,
            message: message.to_string(),
            remedy: None,
        }
    }

    pub(crate) fn remedy(mut self, remedy: Option<impl Into<String>>) -> Self {
        self.remedy = remedy.map(Into::into);
        self
    }

    /// What failed and why.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    pub(crate) fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.exit as u8)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.exit {
            Exit::Threshold => "missed",
            Exit::Interrupted => "stopped",
            Exit::Usage | Exit::Server | Exit::Internal => "error",
        };
        let message = self.message.trim_end();
        // Errors in a study already have their prefix.
        if !message.starts_with("error: ") {
            write!(f, "{kind}: ")?;
        }
        f.write_str(message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  help: {remedy}"),
            None => Ok(()),
        }
    }
}

impl From<lab::Failure> for Failure {
    fn from(failure: lab::Failure) -> Self {
        let exit = match failure.cause {
            lab::Cause::Usage => Exit::Usage,
            lab::Cause::Server => Exit::Server,
            lab::Cause::Interrupted => Exit::Interrupted,
            lab::Cause::Internal => Exit::Internal,
        };
        Self::new(exit, failure.message).remedy(failure.remedy)
    }
}

impl From<lab::LabError> for Failure {
    fn from(error: lab::LabError) -> Self {
        lab::Failure::from(error).into()
    }
}

impl From<store::StoreError> for Failure {
    fn from(error: store::StoreError) -> Self {
        // Before the load, the directory is unusable; later, partial results are kept.
        let exit = match error {
            _ if error.is_missing() => Exit::Usage,
            store::StoreError::Exists { .. }
            | store::StoreError::Foreign { .. }
            | store::StoreError::Version { .. }
            | store::StoreError::TooLarge { .. }
            | store::StoreError::InUse { .. } => Exit::Usage,
            _ => Exit::Interrupted,
        };
        Self::new(exit, error)
    }
}
