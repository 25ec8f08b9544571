//! Random faults: whatever is drawn happens, is healed, loses no acknowledged commit, and leaves
//! nothing behind.
#![allow(
    clippy::unwrap_used,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::{Cache, Program};
use plan::FaultKind;

/// Each repeat has a schedule of its own; the seeds are fixed, so that every run tests the same ones.
#[test]
fn random_faults_happen_and_are_healed() {
    let cache = Cache::new();
    let text = "title = \"t\"\nserver.engine = \"postgres\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_update_index\"\nthreads = 2\nwarmup = \"1s\"\ntime = \"25s\"\nrepeats = 3\n\
         [topology]\ncluster = \"asynchronous\"\nmembers = 2\n\
         [chaos]\nfaults = [\"kill\", \"stop\", \"pause\", \"restart\"]\nrate = \"1 per 5s\"\n";
    let done = Program::study(text).cache(&cache).run().succeeds();
    let trials = done.result().trials;
    assert_eq!(trials.len(), 3);
    let mut seeds = std::collections::BTreeSet::new();
    for trial in &trials {
        let planned = &trial.setup.planned;
        seeds.extend(planned.chaos.as_ref().map(|chaos| chaos.seed));
        let drawn: Vec<FaultKind> = planned.topology.faults.iter().map(|f| f.kind).collect();
        let hit: Vec<FaultKind> = trial.faults.iter().map(|fault| fault.kind).collect();
        assert!(!drawn.is_empty() && drawn == hit, "{drawn:?}, {hit:?}");
        for fault in &trial.faults {
            assert!(
                fault.error.is_none() && fault.effect_s.is_some(),
                "{fault:?}"
            );
            assert_eq!(fault.healed_s.is_some(), fault.kind.lasts(), "{fault:?}");
        }
        let ledger = &trial.ledgers[0];
        assert!(ledger.acknowledged > 0 && ledger.is_intact(), "{ledger:?}");
    }
    assert_eq!(seeds.len(), 3);
    cache.assert_nothing_left();
}
