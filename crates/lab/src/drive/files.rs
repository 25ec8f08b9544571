//! How many files a trial's loads have open.

use workload::ledger::APPENDERS;

use crate::trial::Trial;

/// Maximum number of files that dyno has open besides those of the loads.
pub(crate) const OWN_FILES: u64 = 320;
/// Files of an event loop: two for the kernel's event queue, two timers, and one to wake it.
const WORKER: u64 = 5;
/// Files of an in-process database: the database, its log or journal, shared memory, a temporary
/// file.
const IN_PROCESS_CONNECTION: u64 = 4;

/// Maximum over the trial.
pub(crate) fn of_loads(trial: &Trial) -> u64 {
    let users = u64::from(trial.planned.load.threads);
    let load = if trial.is_in_process() {
        // Each user has a worker of its own.
        users.saturating_mul(WORKER + IN_PROCESS_CONNECTION)
    } else {
        // A user keeps a lost connection until it has a new one. Without a chosen number of
        // workers, they are few enough to count as dyno's own.
        let workers = u64::from(trial.run_options.workers.unwrap_or(0));
        users + u64::from(trial.run_options.connect_limit) + workers * WORKER
    };
    // Each connection of the ledger has an event loop.
    let cluster = trial.planned.topology.cluster.as_ref();
    let readers = cluster.map_or(1, |cluster| cluster.members);
    let ledger = trial.planned.ledger.as_ref();
    let ledger = ledger.map_or(0, |ledger| {
        u64::from(ledger.users() + APPENDERS + readers) * (WORKER + 1)
    });
    (load + ledger).saturating_mul(u64::from(trial.planned.topology.instances.max(1)))
}
