//! Ctrl-C: once to stop and report, twice to exit immediately.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, fstat};
use rustix::io::Errno;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

use crate::console::eprint;
use crate::failure::{Exit, Failure};

/// Signals that arrive this soon after the first one count as the same: `timeout` signals both its
/// child and the child's group, and a closing terminal sends several signals.
const ECHO: Duration = Duration::from_millis(500);
/// How long to wait for a terminal to accept the last line before exiting without it.
const LAST_LINE_LIMIT: Duration = Duration::from_millis(200);

/// The result directory of this process.
static RESULTS: OnceLock<PathBuf> = OnceLock::new();

/// Sets the result directory that is named when a second signal ends the process.
pub(crate) fn results_are_in(directory: &Path) {
    // A process has a single result directory.
    let _ = RESULTS.set(directory.to_owned());
}

/// A flag that becomes true at the first signal; a second signal ends the process. Signals that
/// are ignored at the start remain ignored, except SIGTERM: `nohup` makes its command ignore
/// SIGHUP, and shells make background processes ignore SIGINT.
pub(crate) fn interruption() -> Result<Arc<AtomicBool>, Failure> {
    let failed =
        |error: std::io::Error| Failure::internal(format!("cannot catch signals: {error}"));
    let mut signals = Signals::new(caught()).map_err(failed)?;
    let interrupted = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&interrupted);
    let listen = move || {
        let mut first: Option<Instant> = None;
        for _ in signals.forever() {
            flag.store(true, Ordering::SeqCst);
            let first = first.get_or_insert_with(Instant::now);
            if first.elapsed() >= ECHO {
                leave();
            }
        }
    };
    let listener = thread::Builder::new().name("signals".to_owned());
    listener.spawn(listen).map_err(failed)?;
    let flag = Arc::clone(&interrupted);
    let watcher = thread::Builder::new().name("stdout".to_owned());
    watcher.spawn(move || watch_stdout(&flag)).map_err(failed)?;
    Ok(interrupted)
}

/// Interrupts the run when nobody reads its results any more: `dyno bench … | head`.
fn watch_stdout(interrupted: &AtomicBool) {
    let stdout = std::io::stdout();
    let is_pipe = fstat(&stdout).is_ok_and(|file| FileType::from_raw_mode(file.st_mode).is_fifo());
    if !is_pipe {
        return;
    }
    // Errors are always waited for.
    let mut closed = [PollFd::new(&stdout, PollFlags::empty())];
    while poll(&mut closed, None).is_err_and(|error| error == Errno::INTR) {}
    if closed[0].revents().contains(PollFlags::ERR) {
        eprint("note: nobody reads the output of this run any more, so it ends");
        interrupted.store(true, Ordering::SeqCst);
    }
}

/// Ends the process, with a last line if it can be written.
fn leave() {
    let line = match RESULTS.get() {
        Some(directory) => format!(
            "stopped immediately; partial results are in {}",
            directory.display()
        ),
        None => "stopped immediately; nothing was measured".to_owned(),
    };
    let (printed, wait) = mpsc::channel();
    let printing = thread::Builder::new().spawn(move || {
        eprint(&line);
        let _ = printed.send(());
    });
    if printing.is_ok() {
        let _ = wait.recv_timeout(LAST_LINE_LIMIT);
    }
    low_level::exit(Exit::Interrupted as i32);
}

fn caught() -> Vec<i32> {
    // Without /proc, no signal is assumed to be ignored.
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = ignored(&status);
    let mut signals = vec![SIGTERM, SIGINT, SIGHUP];
    signals.retain(|signal| *signal == SIGTERM || ignored >> (signal - 1) & 1 == 0);
    signals
}

/// The signals that a process ignores, from its `/proc/PID/status`: bit 0 is signal 1.
fn ignored(status: &str) -> u64 {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ignored_signals_are_parsed() {
        let status = "SigBlk:\t0000000000000004\nSigIgn:\t0000000000001003\nSigCgt:\t00\n";
        assert_eq!(
            ignored(status),
            1 << (SIGHUP - 1) | 1 << (SIGINT - 1) | 1 << 12
        );
        assert_eq!(ignored(""), 0);
    }
}
