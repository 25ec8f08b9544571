//! Ctrl-C: once to stop and report, twice to leave at once.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::flag;

use crate::failure::{Exit, Failure};

/// A flag that becomes true at the first signal; the second ends the process.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // In this order: the second signal finds the flag set.
        flag::register_conditional_shutdown(
            signal,
            Exit::Interrupted as i32,
            Arc::clone(&interrupted),
        )
        .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
        .map_err(|error| Failure::new(Exit::Internal, format!("cannot catch signals: {error}")))?;
    }
    Ok(interrupted)
}
