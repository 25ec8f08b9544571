//! Clusters of which members fail: another member becomes the primary, and the old one returns.

use crate::common::{Finished, Program, each, in_time, is_whole, primaries};
use crate::ledger::history;
use measure::fault::FaultRecord;
use measure::ledger::{Entry, Fate, LedgerSummary};
use measure::summary::TrialSummary;
use plan::FaultKind;

/// A study with four virtual users that write so little that replicas keep up, and these lines.
fn study(engine: &str, cluster: &str, time: &str, rest: &str) -> Program {
    let load = format!(
        "workload = 'oltp_update_non_index'; threads = 4; rate = 50; warmup = '0s'; time = '{time}'"
    );
    let rest = format!("[topology]; cluster = '{cluster}'; {rest}");
    Program::private(engine, &load, &rest)
}

fn by_kind(trial: &TrialSummary, kind: FaultKind) -> &FaultRecord {
    let mut faults = trial.faults.iter();
    faults.find(|fault| fault.kind == kind).unwrap()
}

fn promoted(fault: &FaultRecord) -> Option<u32> {
    fault.promotion.as_ref().and_then(|one| one.node)
}

/// The ledger of a cluster of three that has lost nothing.
fn assert_intact(trial: &TrialSummary) {
    let [ledger]: &[LedgerSummary; 1] = each(&trial.ledgers);
    assert!(ledger.is_intact() && ledger.acknowledged > 10, "{ledger:?}");
    assert_eq!(ledger.checked, [1, 2, 3], "{ledger:?}");
}

/// The primary is killed, and dyno promotes a replica; the old primary returns as a replica of the
/// new one. Then an administrator has another member take over.
fn a_replica_is_promoted_and_the_old_primary_follows_it(
    engine: &str,
    cluster: &str,
    time: &str,
    rest: &str,
) -> Finished {
    let rest = format!(
        "failover = '500ms'; {rest}\
         [[fault]]; at = '3s'; kill = 'primary'; heal = '3s'; expect_outage = true; \
         [[fault]]; at = '30s'; switchover = 'replica'"
    );
    let done = study(engine, cluster, time, &rest).run_alone().succeeds();
    let trial = done.completed();
    let faults = &trial.faults;
    let killed = by_kind(&trial, FaultKind::Kill);
    let switched = by_kind(&trial, FaultKind::Switchover);
    assert_eq!(killed.node, Some(1), "{faults:?}");
    assert!(killed.healed_s.is_some(), "{faults:?}");
    let promotion = killed.promotion.as_ref().unwrap();
    let is_done = promotion.done_s > Some(promotion.asked_s);
    assert!(is_done && promotion.error.is_none(), "{promotion:?}");
    // The old primary follows nobody if it has transactions that were lost: an asynchronous replica
    // may lack some at any time.
    let expected = ["quorum lost", "which lacks transactions"];
    let mut errors = [killed, switched].into_iter().flat_map(|one| &one.error);
    let is_expected = |error: &String| expected.iter().any(|one| error.contains(one));
    assert!(errors.all(is_expected), "{faults:?}");
    let primaries = primaries(&trial);
    let [first, second] = each(&primaries);
    assert!(*first != 1 && switched.node == Some(*second), "{faults:?}");
    assert_eq!(promotion.node, Some(*first));
    assert!(done.file("report.md").contains(&promotion.words()));
    let at_s = switched.effect_s.unwrap() + 2.0;
    assert!(done.completes_after(at_s), "{:?}", done.series());
    done
}

/// Of two members, the one that is left waits for nobody until the other one is back. In the end,
/// none is left to be promoted.
#[test]
fn a_standby_is_promoted_and_the_old_primary_is_rebuilt() {
    // A busy machine needs half a minute for the switchover before them.
    let rest = "members = 2; \
        [[fault]]; at = '60s'; kill = 'replica'; heal = 'never'; expect_outage = true; \
        [[fault]]; at = '61s'; kill = 1; heal = 'never'; expect_outage = true; ";
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
    let rest = "members = 3; ";
    a_replica_is_promoted_and_the_old_primary_follows_it("mariadb", "asynchronous", "42s", rest);
}

/// Its replica is away when it is due, and is hit once it is back.
#[test]
fn a_fault_waits_for_a_member_with_the_role() {
    let rest = "members = 2; [[fault]]; at = '1s'; stop = 2; heal = '3s'; \
                [[fault]]; at = '2s'; pause = 'replica'; heal = '6s'; expect_outage = true";
    let run = |time: &str| {
        let study = study("mariadb", "asynchronous", time, rest);
        study.run_alone().succeeds()
    };
    let is_over = |done: &Finished| done.trial().faults.iter().all(is_whole);
    let done = in_time(&["14s", "60s"], run, is_over);
    let trial = done.completed();
    let [stopped, paused] = each(&trial.faults);
    assert_eq!((stopped.node, paused.node), (Some(2), Some(2)));
    let (back_s, hit_s) = (stopped.healed_s.unwrap(), paused.effect_s.unwrap());
    assert!(hit_s > back_s, "{:?}", trial.faults);
    // It lasts as long as planned.
    assert!(paused.heal_asked_s.unwrap() > back_s + 3.0, "{paused:?}");
}

/// Switchovers under load, the later ones due while the earlier ones still wait for replicas, leave
/// no transaction behind on a former primary.
fn switchovers_leave_nothing_behind(engine: &str, cluster: &str, at: &[&str]) {
    let fault = |at: &&str| format!("[[fault]]; at = '{at}'; switchover = 'replica'; ");
    let faults: String = at.iter().map(fault).collect();
    let rest = format!("members = 3; {faults}[ledger]; rate = 100");
    let study = study(engine, cluster, "12s", &rest);
    let trial = study.run_alone().succeeds().trial();
    // On a busy machine, the load may end while the last one waits for the earlier ones.
    let is_over = |error: &String| error.contains("the load ended");
    let is_fine = |fault: &FaultRecord| fault.error.as_ref().is_none_or(is_over);
    assert!(trial.faults.iter().all(is_fine), "{:?}", trial.faults);
    assert!(trial.faults[0].effect_s.is_some(), "{:?}", trial.faults);
    assert_eq!(trial.faults.len(), at.len());
    assert_intact(&trial);
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

/// Runs a study of members with networks of their own until all faults are over; `None` where this
/// user may not make such networks.
fn in_namespaces(
    cluster: &str,
    rest: &str,
    times: &[&str],
    is_over: impl Fn(&[FaultRecord]) -> bool,
) -> Option<Finished> {
    let rest = format!("network = 'namespaces'; {rest}");
    let run = |time: &str| study("postgres", cluster, time, &rest).run_alone();
    let is_refused = |done: &Finished| done.stderr.contains("CAP_NET_ADMIN");
    let is_over = |done: &Finished| is_refused(done) || is_over(&done.trial().faults);
    let done = in_time(times, run, is_over);
    if is_refused(&done) {
        testkit::skip("this user may not make network namespaces");
        return None;
    }
    Some(done.succeeds())
}

/// A member of a cluster with a network of its own is cut off, in both directions and in one, and
/// its link is slow; commits that wait for it wait until the link works. Clients do not reach the
/// primary, though the replica does.
#[test]
fn links_break_and_work_again() {
    let rest = "members = 2; \
        [[fault]]; at = '2s'; partition = 'replica'; heal = '3s'; expect_outage = true; \
        [[fault]]; at = '8s'; drop = 'primary'; heal = '3s'; expect_outage = true; \
        [[fault]]; at = '14s'; slow_link = 'primary'; rate = '100K'; delay = '5ms'; heal = '2s'; \
        [[fault]]; at = '18s'; cut_clients = 'primary'; heal = '3s'; expect_outage = true; \
        [[fault]]; at = '24s'; command = ['sh', '-c', 'env | grep TARGET_']";
    let is_over = |faults: &[FaultRecord]| faults.iter().all(|fault| fault.effect_s.is_some());
    let Some(done) = in_namespaces("synchronous", rest, &["28s", "60s"], is_over) else {
        return;
    };
    let trial = done.completed();
    let links = &trial.faults[..4];
    let nodes: Vec<_> = links.iter().map(|fault| fault.node).collect();
    assert_eq!(nodes, [Some(2), Some(1), Some(1), Some(1)]);
    let is_healed = |fault: &FaultRecord| fault.effect_s.is_some() && fault.healed_s.is_some();
    assert!(links.iter().all(is_healed), "{links:?}");
    for fault in links.iter().filter(|one| one.kind != FaultKind::SlowLink) {
        let (from_s, to_s) = (fault.effect_s.unwrap(), fault.healed_s.unwrap());
        let during = |t_s: f64, seconds: f64| t_s > from_s && t_s + seconds < to_s;
        let mut series = done.series();
        series.retain(|one| during(one.t_s, one.seconds));
        let count: f64 = series.iter().filter_map(|second| second.tps).sum();
        assert_eq!(count, 0.0, "{series:?}");
    }
    let at_s = links[3].healed_s.unwrap();
    assert!(done.completes_after(at_s), "{:?}", done.series());
    // A command is told of its target.
    let told = done.kept(1, "1/fault-5-1.log");
    for name in ["HOST=", "PORT=", "ROLE=primary", "PID="] {
        assert!(told.contains(&format!("TARGET_{name}")), "{told}");
    }
}

/// A minority is lost, of members or the primary alone; nobody is where both sides reach a bridge. A
/// lossy link and a rolling restart lose nothing.
#[test]
fn partitions_have_sides_and_a_rolling_restart_has_steps() {
    let rest = "members = 3; failover = '500ms'; [ledger]; \
        [[fault]]; at = '2s'; partition = 'primary'; with = ['replica']; heal = '2s'; \
        [[fault]]; at = '6s'; partition = 'primary'; bridge = 'replica'; heal = '2s'; \
        [[fault]]; at = '10s'; slow_link = 'primary'; loss = '10%'; heal = '2s'; \
        [[fault]]; at = '14s'; partition = 'replica'; with = ['replica']; heal = '4s'; \
        [[fault]]; at = '30s'; restart = 'all'";
    // The last fault has four steps.
    let is_over = |faults: &[FaultRecord]| faults.len() == 8 && faults[7].healed_s.is_some();
    let Some(done) = in_namespaces("quorum", rest, &["55s", "90s", "240s"], is_over) else {
        return;
    };
    let trial = done.trial();
    let [majority, bridged, lossy, alone, steps @ ..] = trial.faults.as_slice() else {
        panic!("{:?}", trial.faults)
    };
    for fault in [majority, bridged, lossy, alone] {
        let is_lost = fault.number == alone.number;
        let is_as_expected = is_whole(fault) && promoted(fault).is_some() == is_lost;
        assert!(is_as_expected, "{fault:?}");
    }
    // Transfers went on at the successor.
    let promoted_s = alone.promotion.as_ref().and_then(|one| one.done_s);
    let is_after = |one: &Entry| one.fate == Fate::Acknowledged && Some(one.begun_s) > promoted_s;
    let history = history(&done.out());
    assert!(promoted_s.is_some() && history.entries().iter().any(is_after));
    assert!(promoted(alone) != Some(1) && primaries(&trial)[0] != 1);
    let kinds: Vec<_> = steps.iter().map(|step| (step.step, step.kind)).collect();
    let (restart, switchover) = (FaultKind::Restart, FaultKind::Switchover);
    let expected = [(1, restart), (2, restart), (3, switchover), (4, restart)];
    assert_eq!(kinds, expected);
    let in_turn = |pair: &[FaultRecord]| pair[0].healed_s <= Some(pair[1].asked_s);
    assert!(steps.windows(2).all(in_turn), "{steps:?}");
    assert_eq!(
        steps[3].node,
        promoted(alone),
        "the primary is last: {steps:?}"
    );
    let mut restarted: Vec<_> = [0, 1, 3].map(|at| steps[at].node).to_vec();
    restarted.sort();
    assert_eq!(restarted, [Some(1), Some(2), Some(3)], "{steps:?}");
    assert_intact(&trial);
}
