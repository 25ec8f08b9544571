//! Failures that several parts report.

use std::io::ErrorKind;
use std::path::Path;

use plan::shown_bytes;

pub use plan::{Exit, Fact, Failure};

/// The user interrupted before the load.
pub fn canceled() -> Failure {
    Failure::interrupted("interrupted while preparing the servers; nothing was left behind")
}

/// The disk of a directory has too little space for what needs so much in total.
pub fn disk_full(what: &str, dir: &Path, needed_bytes: u64, free_bytes: u64) -> Failure {
    Failure::server(format!(
        "{}: {what} needs {}; only {} is available",
        dir.display(),
        shown_bytes(needed_bytes),
        shown_bytes(free_bytes)
    ))
    .remedy("free some disk space, use less data, or choose another disk: DYNO_CACHE_DIR for dyno's cache, volume.directory for the servers' data")
    .key("volume.directory")
}

pub fn is_disk_full(failure: &Failure) -> bool {
    [ErrorKind::StorageFull, ErrorKind::QuotaExceeded]
        .iter()
        .any(|kind| failure.is(Fact::Io(*kind)))
}

/// Marks a failure as one of the volume of a server's log, which has its own place in the study.
pub fn of_log(failure: Failure) -> Failure {
    if failure.is_interrupted() {
        return failure;
    }
    Failure {
        key: failure.key.as_ref().map(|key| format!("log_{key}")),
        fact: None,
        ..failure
    }
    .context("[log_volume]")
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn what_the_volume_of_a_log_lacks_is_not_said_of_the_data() {
        let full = io::Error::from(ErrorKind::StorageFull);
        let failure = Failure::at("write", "/log")(full).key("volume.directory");
        assert!(is_disk_full(&failure));
        let failure = of_log(failure);
        assert!(!is_disk_full(&failure));
        assert_eq!(failure.exit, Exit::Server);
        assert!(
            failure
                .message
                .starts_with("[log_volume]: cannot write /log: ")
        );
        assert_eq!(failure.key.as_deref(), Some("log_volume.directory"));
        assert_eq!(of_log(canceled()), canceled());
    }
}
