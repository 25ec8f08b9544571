//! The number of files that a trial's loads have open.

use crate::trial::Trial;

/// The most files that dyno has open besides those of the loads.
pub(crate) const OWN_FILES: u64 = 256;
/// An event loop: two of the kernel's event queue, two timers, and what wakes it.
const WORKER: u64 = 5;
/// A database, its log or journal, shared memory, a temporary file.
const IN_PROCESS_CONNECTION: u64 = 4;

/// The most files that all loads of a trial have open at once.
pub(crate) fn of_loads(trial: &Trial) -> u64 {
    let users = u64::from(trial.planned.load.threads);
    let load = if trial.is_in_process() {
        // Each user has a worker of its own.
        users.saturating_mul(WORKER + IN_PROCESS_CONNECTION)
    } else {
        // A user keeps a connection that it lost until it has another. Of the workers, those
        // that are there without being asked for are among dyno's own.
        let workers = u64::from(trial.run_options.workers.unwrap_or(0));
        users + u64::from(trial.run_options.connect_limit) + workers * WORKER
    };
    load.saturating_mul(u64::from(trial.planned.topology.instances.max(1)))
}
