//! Clusters of which members fail: another member becomes the primary, and the old one returns.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use common::{Cache, Finished, Program};
use measure::event::NodeEventKind;
use measure::fault::FaultRecord;
use measure::setup::Outcome;
use plan::FaultKind;

/// A study with four virtual users that write, and these lines.
fn study(engine: &str, cluster: &str, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_update_non_index\"\nthreads = 4\nwarmup = \"0s\"\ntime = \"{time}\"\n\
         [topology]\ncluster = \"{cluster}\"\n{rest}\n"
    ))
}

/// The nodes that became the primary, in order of time.
fn primaries(done: &Finished) -> Vec<u32> {
    let mut events = done.trial().events;
    events.retain(|event| event.what == NodeEventKind::BecamePrimary);
    events.iter().map(|event| event.node).collect()
}

/// Transactions ended after this time.
#[track_caller]
fn assert_writes_after(done: &Finished, at_s: f64) {
    let series = done.series();
    let mut after = series.iter().filter(|second| second.t_s > at_s);
    assert!(
        after.any(|second| second.tps > Some(0.0)),
        "none after {at_s}: {series:?}"
    );
}

fn by_kind(faults: &[FaultRecord], kind: FaultKind) -> &FaultRecord {
    let mut faults = faults.iter();
    faults.find(|fault| fault.kind == kind).unwrap()
}

/// The primary is killed, and dyno promotes a replica; the old primary returns as a replica of the
/// new one. Then an administrator has another member take over.
#[test]
fn a_replica_is_promoted_and_the_old_primary_follows_it() {
    let place = Cache::new();
    let rest = "members = 3\nfailover = \"500ms\"\n\
        [[fault]]\nat = \"3s\"\nkill = \"primary\"\nheal = \"3s\"\n\
        [[fault]]\nat = \"20s\"\nswitchover = \"replica\"\n";
    let study = study("postgres", "asynchronous", "32s", rest);
    let done = study.cache(&place).run().succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed, "{}", done.shown());
    let faults = &trial.faults;
    let killed = by_kind(faults, FaultKind::Kill);
    assert_eq!((killed.node, &killed.error), (Some(1), &None), "{faults:?}");
    assert!(killed.healed_s.is_some(), "{faults:?}");
    let switched = by_kind(faults, FaultKind::Switchover);
    assert_eq!(switched.error, None, "{faults:?}");
    let new = switched.node.unwrap();
    let primaries = primaries(&done);
    assert_eq!(primaries.len(), 2, "{primaries:?}");
    assert!(primaries[0] != 1 && primaries[1] == new, "{primaries:?}");
    assert_writes_after(&done, switched.effect_s.unwrap() + 2.0);
    place.assert_nothing_left();
}
