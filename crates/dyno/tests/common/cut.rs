//! Trials that are cut off in the middle.

use std::path::{Path, PathBuf};

use measure::setup::Outcome;
use rustix::process::{Pid, Signal, kill_process};

use super::{Cache, Finished, Running, wait_until};

/// How often a moment may be missed.
const TRIES: u32 = 20;

/// The directory of the trial with this number.
pub fn trial_dir(out: &Path, number: usize) -> Option<PathBuf> {
    store::trial_dirs(out).ok()?.into_iter().nth(number - 1)
}

/// Whether a trial has a second of this phase.
pub fn has_second(out: &Path, number: usize, phase: &str) -> bool {
    let series = trial_dir(out, number).map(|dir| dir.join("series.jsonl"));
    let text = series.and_then(|path| std::fs::read_to_string(path).ok());
    text.is_some_and(|text| text.contains(phase))
}

/// Starts a dyno whose result goes to `out`, and cuts the trial with this number off by `cut` when
/// it has measured for a second. If the trial was complete before that, as it may be on a busy
/// machine, all begins anew.
#[track_caller]
pub fn cut_off(
    out: &Path,
    number: usize,
    start: impl Fn() -> Running,
    cut: impl Fn(&Running),
) -> Finished {
    for _ in 0..TRIES {
        let mut dyno = start();
        wait_until("a second of the trial", || {
            has_second(out, number, "measure") || dyno.has_ended()
        });
        if !dyno.has_ended() {
            cut(&dyno);
            let done = dyno.wait();
            let trial = store::read_trial(&trial_dir(out, number).unwrap()).unwrap();
            if trial.is_none_or(|trial| trial.outcome != Outcome::Completed) {
                return done;
            }
        }
        std::fs::remove_dir_all(out).unwrap();
    }
    panic!("trial {number} was complete in each of {TRIES} runs");
}

/// Kills a server as `kill -9` does, unless it has just stopped.
pub fn kill_server(cache: &Cache, number: u32) {
    if let Some(pid) = cache.server(number) {
        let pid = Pid::from_raw(pid.cast_signed()).unwrap();
        let _ = kill_process(pid, Signal::KILL);
    }
}
