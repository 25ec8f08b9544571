//! Ctrl-C: once to stop and report, twice to leave at once.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::failure::{Exit, Failure};

/// What comes sooner after the first signal belongs to it: `timeout` sends one to its child
/// and one to the child's group, a terminal that closes sends several.
const ECHO: Duration = Duration::from_millis(500);

/// A flag that becomes true at the first signal; a second one ends the process.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let failed = |error: std::io::Error| {
        Failure::new(Exit::Internal, format!("cannot catch signals: {error}"))
    };
    let mut signals = Signals::new([SIGINT, SIGTERM, SIGHUP]).map_err(failed)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let listen = move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            flag.store(true, Ordering::SeqCst);
            let first = first.get_or_insert_with(Instant::now);
            if first.elapsed() >= ECHO {
                low_level::exit(Exit::Interrupted as i32);
            }
        }
    };
    let listener = thread::Builder::new().name("signals".to_owned());
    listener.spawn(listen).map_err(failed)?;
    Ok(interrupted)
}
