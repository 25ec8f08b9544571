//! How failures end dyno, and what failures of stored results mean.

use store::StoreError;

pub(crate) use lab::{Exit, Failure};

/// As printed, with what to do about it.
pub(crate) fn shown(failure: &Failure) -> String {
    let message = failure.message.trim_end();
    let kind = match failure.exit {
        // Errors in a study already have their prefix.
        _ if message.starts_with("error: ") => "",
        Exit::Threshold => "missed: ",
        Exit::Interrupted => "stopped: ",
        Exit::Usage | Exit::Server | Exit::Internal => "error: ",
    };
    match &failure.remedy {
        Some(remedy) => format!("{kind}{message}\n  help: {remedy}"),
        None => format!("{kind}{message}"),
    }
}

/// A result that cannot be read or written.
pub(crate) fn stored(error: StoreError) -> Failure {
    // Before the load, the directory is unusable; later, partial results are kept.
    let exit = match error {
        _ if error.is_missing() => Exit::Usage,
        StoreError::Exists { .. }
        | StoreError::Foreign { .. }
        | StoreError::Version { .. }
        | StoreError::TooLarge { .. }
        | StoreError::InUse { .. } => Exit::Usage,
        _ => Exit::Interrupted,
    };
    Failure::new(exit, error)
}
