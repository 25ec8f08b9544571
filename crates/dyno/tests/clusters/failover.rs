//! Clusters of which members fail: another member becomes the primary, and the old one returns.

use crate::common::{Cache, Finished, Program, each};
use measure::fault::FaultRecord;
use measure::instance::NodeEventKind;
use measure::setup::Outcome;
use plan::FaultKind;

/// A study with four virtual users that write so little that replicas keep up, and these lines.
fn study(engine: &str, cluster: &str, time: &str, rest: &str) -> Program {
    Program::study(&format!(
        "title = \"t\"\n[server]\nengine = \"{engine}\"\n[data]\nrows = 100\n\
         [load]\nworkload = \"oltp_update_non_index\"\nthreads = 4\nrate = 200\nwarmup = \"0s\"\ntime = \"{time}\"\n\
         [topology]\ncluster = \"{cluster}\"\n{rest}\n"
    ))
}

/// The nodes that became the primary, in order of time.
fn primaries(done: &Finished) -> Vec<u32> {
    let mut events = done.trial().events;
    events.retain(|event| event.what == NodeEventKind::BecamePrimary);
    events.iter().map(|event| event.node).collect()
}

fn by_kind(faults: &[FaultRecord], kind: FaultKind) -> &FaultRecord {
    let mut faults = faults.iter();
    faults.find(|fault| fault.kind == kind).unwrap()
}

/// The primary is killed, and dyno promotes a replica; the old primary returns as a replica of the
/// new one. Then an administrator has another member take over.
fn a_replica_is_promoted_and_the_old_primary_follows_it(
    engine: &str,
    cluster: &str,
    time: &str,
    rest: &str,
) -> Finished {
    let place = Cache::new();
    let rest = format!(
        "failover = \"500ms\"\n{rest}\n\
        [[fault]]\nat = \"3s\"\nkill = \"primary\"\nheal = \"3s\"\nexpect_outage = true\n\
        [[fault]]\nat = \"30s\"\nswitchover = \"replica\"\n"
    );
    let study = study(engine, cluster, time, &rest);
    let done = study.cache(&place).succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed, "{done}");
    let faults = &trial.faults;
    let killed = by_kind(faults, FaultKind::Kill);
    assert_eq!(killed.node, Some(1), "{faults:?}");
    assert!(killed.healed_s.is_some(), "{faults:?}");
    let promotion = killed.promotion.as_ref().unwrap();
    let is_done = promotion.done_s > Some(promotion.asked_s);
    assert!(is_done && promotion.error.is_none(), "{promotion:?}");
    let switched = by_kind(faults, FaultKind::Switchover);
    for fault in [killed, switched] {
        // The old primary follows nobody if it has transactions that were lost: an asynchronous
        // replica may lack some at any time.
        let expected = ["quorum lost", "which lacks transactions"];
        let error = fault.error.as_deref().unwrap_or(expected[0]);
        assert!(expected.iter().any(|one| error.contains(one)), "{faults:?}");
    }
    let new = switched.node.unwrap();
    let primaries = primaries(&done);
    assert_eq!(primaries.len(), 2, "{primaries:?}");
    assert!(primaries[0] != 1 && primaries[1] == new, "{primaries:?}");
    assert_eq!(promotion.node, Some(primaries[0]));
    assert!(done.file("report.md").contains(&promotion.words()));
    let at_s = switched.effect_s.unwrap() + 2.0;
    assert!(done.completes_after(at_s), "{:?}", done.series());
    place.assert_nothing_left();
    done
}

/// Of two members, the one that is left waits for nobody until the other one is back. In the end,
/// none is left to be promoted.
#[test]
fn a_standby_is_promoted_and_the_old_primary_is_rebuilt() {
    // A busy machine needs half a minute for the switchover before them.
    let rest = "members = 2\n\
        [[fault]]\nat = \"60s\"\nkill = \"replica\"\nheal = \"never\"\nexpect_outage = true\n\
        [[fault]]\nat = \"61s\"\nkill = 1\nheal = \"never\"\nexpect_outage = true\n";
    let done = a_replica_is_promoted_and_the_old_primary_follows_it(
        "postgres",
        "synchronous",
        "64s",
        rest,
    );
    let log = done.kept(1, "2/error.log");
    let (before, after) = log.split_once("received promote request").unwrap();
    // A reload just before the promotion may delay it by 5 s.
    assert!(!before.contains("received SIGHUP"), "{log}");
    assert!(after.contains("\"FIRST 1 (dyno1)\""), "{log}");
    // Whom they follow is logged, too.
    let logs = log + &done.kept(1, "1/error.log");
    let is_logged = logs.contains("\"primary_conninfo\"");
    assert!(is_logged && !logs.contains("password="), "{logs}");
    let last = done.trial().faults.pop().unwrap();
    let refused = last.promotion.as_ref().unwrap();
    assert_eq!((refused.node, refused.done_s), (None, None), "{last:?}");
    let why = refused.error.as_deref().unwrap();
    assert!(done.file("report.md").contains(why), "{last:?}");
}

#[test]
fn a_replica_of_the_binary_log_is_promoted_and_the_old_primary_follows_it() {
    let rest = "members = 3";
    a_replica_is_promoted_and_the_old_primary_follows_it("mariadb", "asynchronous", "42s", rest);
}

/// Switchovers under load, the later ones due while the earlier ones still wait for replicas, leave
/// no transaction behind on a former primary.
fn switchovers_leave_nothing_behind(engine: &str, cluster: &str, at: &[&str]) {
    let place = Cache::new();
    let fault = |at: &&str| format!("[[fault]]\nat = \"{at}\"\nswitchover = \"replica\"\n");
    let faults: String = at.iter().map(fault).collect();
    let rest = format!("members = 3\n{faults}[ledger]\nrate = 100\n");
    let study = study(engine, cluster, "12s", &rest);
    let done = study.cache(&place).succeeds();
    let trial = done.trial();
    // On a busy machine, the load may end while the last one waits for the earlier ones.
    let is_over = |error: &String| error.contains("the load ended");
    let is_fine = |fault: &FaultRecord| fault.error.as_ref().is_none_or(is_over);
    assert!(trial.faults.iter().all(is_fine), "{:?}", trial.faults);
    assert!(trial.faults[0].effect_s.is_some(), "{:?}", trial.faults);
    assert_eq!(trial.faults.len(), at.len());
    let [ledger] = trial.ledgers.try_into().unwrap();
    assert!(ledger.is_intact() && ledger.acknowledged > 10, "{ledger:?}");
    assert_eq!(ledger.checked, [1, 2, 3], "{ledger:?}");
    place.assert_nothing_left();
}

#[test]
fn switchovers_of_the_binary_log_leave_nothing_behind() {
    let at = ["2s", "2500ms", "3s", "8s"];
    switchovers_leave_nothing_behind("mariadb", "asynchronous", &at);
    switchovers_leave_nothing_behind("mysql", "semi-synchronous", &at);
}

/// The former primary is shut down and becomes a standby, even if the load ends in the meantime.
#[test]
fn switchovers_of_postgres_leave_nothing_behind() {
    switchovers_leave_nothing_behind("postgres", "asynchronous", &["2s", "11800ms"]);
}

/// A member of a cluster with a network of its own is cut off, in both directions and in one, and
/// its link is slow; commits that wait for it wait until the link works. Clients do not reach the
/// primary, though the replica does.
#[test]
fn links_break_and_work_again() {
    let place = Cache::new();
    let rest = "members = 2\nnetwork = \"namespaces\"\n\
        [[fault]]\nat = \"2s\"\npartition = \"replica\"\nheal = \"3s\"\nexpect_outage = true\n\
        [[fault]]\nat = \"8s\"\ndrop = \"primary\"\nheal = \"3s\"\nexpect_outage = true\n\
        [[fault]]\nat = \"14s\"\nslow_link = \"primary\"\nrate = \"100K\"\ndelay = \"5ms\"\nheal = \"2s\"\n\
        [[fault]]\nat = \"18s\"\ncut_clients = \"primary\"\nheal = \"3s\"\nexpect_outage = true\n\
        [[fault]]\nat = \"24s\"\ncommand = [\"sh\", \"-c\", \"env | grep TARGET_\"]\n";
    let study = study("postgres", "synchronous", "28s", rest);
    let done = study.cache(&place).run();
    if done.stderr.contains("CAP_NET_ADMIN") {
        return testkit::skip("this user may not make network namespaces");
    }
    let done = done.succeeds();
    let trial = done.trial();
    assert_eq!(trial.outcome, Outcome::Completed, "{done}");
    let [cut, dropped, slow, silent, _] = each(&trial.faults);
    assert_eq!(
        [cut.node, dropped.node, slow.node, silent.node],
        [Some(2), Some(1), Some(1), Some(1)]
    );
    for fault in [cut, dropped, slow, silent] {
        assert!(
            fault.effect_s.is_some() && fault.healed_s.is_some(),
            "{fault:?}"
        );
    }
    for fault in [cut, dropped, silent] {
        let (from_s, to_s) = (fault.effect_s.unwrap(), fault.healed_s.unwrap());
        let series = done.series();
        let during = series
            .iter()
            .filter(|one| one.t_s > from_s && one.t_s + one.seconds < to_s);
        let count: f64 = during.filter_map(|second| second.tps).sum();
        assert_eq!(count, 0.0, "{series:?}");
    }
    let at_s = silent.healed_s.unwrap();
    assert!(done.completes_after(at_s), "{:?}", done.series());
    // A command is told of its target.
    let told = done.kept(1, "1/fault-5-1.log");
    for name in ["HOST=", "PORT=", "ROLE=primary", "PID="] {
        assert!(told.contains(&format!("TARGET_{name}")), "{told}");
    }
    place.assert_nothing_left();
}

/// A minority is lost, of members or the primary alone; nobody is where both sides reach a bridge. A
/// lossy link and a rolling restart lose nothing.
#[test]
fn partitions_have_sides_and_a_rolling_restart_has_steps() {
    let place = Cache::new();
    let rest = "members = 3\nnetwork = \"namespaces\"\nfailover = \"500ms\"\n[ledger]\n\
        [[fault]]\nat = \"2s\"\npartition = \"primary\"\nwith = [\"replica\"]\nheal = \"2s\"\n\
        [[fault]]\nat = \"6s\"\npartition = \"primary\"\nbridge = \"replica\"\nheal = \"2s\"\n\
        [[fault]]\nat = \"10s\"\nslow_link = \"primary\"\nloss = \"10%\"\nheal = \"2s\"\n\
        [[fault]]\nat = \"14s\"\npartition = \"replica\"\nwith = [\"replica\"]\nheal = \"4s\"\n\
        [[fault]]\nat = \"30s\"\nrestart = \"all\"\n";
    let study = study("postgres", "quorum", "60s", rest);
    let done = study.cache(&place).run();
    if done.stderr.contains("CAP_NET_ADMIN") {
        return testkit::skip("this user may not make network namespaces");
    }
    let done = done.succeeds();
    let trial = done.trial();
    let [majority, bridged, lossy, alone, steps @ ..] = trial.faults.as_slice() else {
        panic!("{:?}", trial.faults)
    };
    let promoted = |fault: &FaultRecord| fault.promotion.as_ref().and_then(|one| one.node);
    for fault in [majority, bridged, lossy, alone] {
        assert!(
            fault.healed_s.is_some() && fault.error.is_none(),
            "{fault:?}"
        );
        assert_eq!(
            promoted(fault).is_some(),
            fault.number == alone.number,
            "{fault:?}"
        );
    }
    assert!(promoted(alone) != Some(1) && primaries(&done)[0] != 1);
    let kinds: Vec<_> = steps.iter().map(|step| (step.step, step.kind)).collect();
    let (restart, switchover) = (FaultKind::Restart, FaultKind::Switchover);
    assert_eq!(
        kinds,
        [(1, restart), (2, restart), (3, switchover), (4, restart)]
    );
    let mut restarted: Vec<_> = steps.iter().filter(|step| step.kind == restart).collect();
    assert_eq!(
        restarted[2].node,
        promoted(alone),
        "the primary is last: {steps:?}"
    );
    for pair in steps.windows(2) {
        assert!(pair[0].healed_s <= Some(pair[1].asked_s), "{steps:?}");
    }
    restarted.sort_by_key(|step| step.node);
    let nodes: Vec<_> = restarted.iter().map(|step| step.node).collect();
    assert_eq!(nodes, [Some(1), Some(2), Some(3)], "{steps:?}");
    let [ledger] = trial.ledgers.try_into().unwrap();
    assert!(ledger.is_intact() && ledger.acknowledged > 10, "{ledger:?}");
    assert_eq!(ledger.checked, [1, 2, 3], "{ledger:?}");
    place.assert_nothing_left();
}
