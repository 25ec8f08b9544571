//! Failures that several parts of the laboratory report.

pub(crate) use machine::failure::{canceled, disk_full, is_disk_full, of_log};
pub use plan::{Exit, Fact, Failure};

/// A fault was to strike or heal a server that does not run.
pub(crate) fn not_running(server: &str) -> Failure {
    Failure::server(format!("{server} is not running")).fact(Fact::NotRunning)
}
