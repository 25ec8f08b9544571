//! Failures that several parts of the laboratory report.

use std::sync::atomic::{AtomicBool, Ordering};

pub(crate) use machine::failure::{canceled, disk_full, is_disk_full, of_log};
pub use plan::{Exit, Fact, Failure};

/// Fails if `is_over` is set, because the user has interrupted the run or the trial has ended.
pub(crate) fn unless_canceled(is_over: &AtomicBool) -> Result<(), Failure> {
    match is_over.load(Ordering::Relaxed) {
        true => Err(canceled()),
        false => Ok(()),
    }
}

/// A fault was to strike or heal a server that does not run.
pub(crate) fn not_running(server: &str) -> Failure {
    Failure::server(format!("{server} is not running")).fact(Fact::NotRunning)
}
