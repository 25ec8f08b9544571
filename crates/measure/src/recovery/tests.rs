//! Known answers on constructed series, and properties of any series.

use plan::FaultKind;

use super::*;
use crate::interval::Estimate;

const STEP_S: f64 = 0.01;

/// Counts every 10 ms until `end_s` of a load with `per_s` transactions per second.
fn counts(end_s: f64, per_s: impl Fn(f64) -> f64) -> Counts {
    let steps = (end_s / STEP_S).round() as u32;
    let mut completed = 0.0;
    let count = |step: u32| {
        let t_s = f64::from(step) * STEP_S;
        completed += per_s(t_s) * STEP_S;
        Count {
            t_s: t_s + STEP_S,
            total: completed as u64,
        }
    };
    Counts((0..steps).map(count).collect())
}

/// Throughput that has each level from its time on.
fn levels<const N: usize>(levels: [(f64, f64); N]) -> impl Fn(f64) -> f64 + Copy {
    move |t_s| {
        let mut begun = levels.iter().rev();
        begun
            .find(|(from_s, _)| *from_s <= t_s)
            .map_or(0.0, |(_, per_s)| *per_s)
    }
}

fn observed(end_s: f64, per_s: impl Fn(f64) -> f64) -> Observed {
    Observed {
        end_s,
        counts: counts(end_s, per_s),
        ..Observed::default()
    }
}

fn fault(asked_s: f64, effect_s: f64) -> FaultRecord {
    let fault = serde_json::json!({
        "number": 1, "kind": "kill", "target": "primary", "instance": 1, "node": 1,
        "asked_s": asked_s, "effect_s": effect_s,
    });
    serde_json::from_value(fault).unwrap()
}

fn recovered(observed: &Observed, mut faults: Vec<FaultRecord>) -> Vec<Recovery> {
    recover(observed, &mut faults.iter_mut().collect::<Vec<_>>());
    let recoveries = faults.into_iter().map(|fault| fault.recovery.unwrap());
    recoveries.collect()
}

fn one(observed: &Observed) -> Recovery {
    recovered(observed, vec![fault(20.0, 20.001)]).remove(0)
}

#[track_caller]
fn close(found: Option<f64>, expected: f64, within: f64) {
    let found = found.unwrap();
    assert!((found - expected).abs() <= within, "{found} for {expected}");
}

/// 1,000 per second, nothing from 20 s to 26 s, a rise over 2 s, and 1,000 again.
fn failover(t_s: f64) -> f64 {
    match t_s {
        t if t < 20.0 => 1000.0,
        t if t < 26.0 => 0.0,
        t if t < 28.0 => 500.0 * (t - 26.0),
        _ => 1000.0,
    }
}

#[test]
fn the_phases_of_a_failover() {
    let found = one(&observed(60.0, failover));
    close(found.outage_s, 6.0, 0.1);
    // The mean over a second reaches 95 % from 27.55 s on.
    close(found.back_s, 7.55, 0.05);
    close(found.steady_s, 7.55, 0.05);
    assert_eq!(found.lowest_share, Some(0.0));
    // 6,000 in the outage, and 1,000 in the rise.
    close(found.lost_transactions, 6950.0, 60.0);
    let value = |estimate: Option<Estimate>| estimate.map(|estimate| estimate.value);
    close(value(found.before), 1000.0, 1.0);
    assert!(found.before.unwrap().half_width.is_some());
    close(value(found.after), 1000.0, 3.0);
    close(value(found.during), 80.0, 60.0);
}

#[test]
fn what_does_not_happen_is_absent() {
    let down = observed(40.0, levels([(0.0, 1000.0), (20.0, 0.0)]));
    let found = one(&down);
    let seconds = [
        found.back_s,
        found.steady_s,
        found.first_error_s,
        found.detected_s,
        found.first_write_s,
        found.load_write_s,
        found.rejoined_s,
    ];
    assert_eq!((seconds, found.after), ([None; 7], None));
    close(found.outage_s, 20.0, 0.02);
    close(found.lost_transactions, 20_000.0, 20.0);
    // The seconds since the effect are too few for a level.
    assert_eq!(one(&observed(28.5, failover)).steady_s, None);
    // A load that never completed a transaction.
    let nothing = one(&observed(40.0, |_| 0.0));
    assert_eq!((nothing.back_s, nothing.lost_transactions), (None, None));
    assert_eq!(one(&Observed::default()).outage_s, None);
}

#[test]
fn a_fault_that_the_load_does_not_notice_costs_nothing() {
    let ripple = |t_s: f64| 1000.0 + 150.0 * (t_s * 2.0).sin();
    let found = one(&observed(60.0, ripple));
    assert_eq!(found.back_s, Some(0.0));
    assert_eq!(found.lost_transactions, Some(0.0));
    assert!(found.lowest_share.unwrap() > 0.8, "{found:?}");
}

#[test]
fn a_stall_before_the_fault_does_not_hide_its_outage() {
    let stalled = |t_s: f64| match t_s {
        t if (5.0..7.0).contains(&t) => 0.0,
        _ => failover(t_s),
    };
    let found = one(&observed(60.0, stalled));
    // The previous mean is 900 per second.
    close(found.back_s, 7.25, 0.1);
}

#[test]
fn a_new_level_is_steady_though_throughput_is_not_back() {
    let series = |t_s: f64| match t_s {
        t if t < 20.0 => 1000.0,
        t if t < 22.0 => 0.0,
        t if t < 40.0 => 300.0,
        _ => 700.0 + 10.0 * (t_s * 7.0).sin(),
    };
    let found = one(&observed(80.0, series));
    assert_eq!(found.back_s, None);
    close(found.steady_s, 20.0, 0.2);
    // Until the end: 2 s of 1,000, 18 s of 700, and 40 s of 300.
    close(found.lost_transactions, 26_600.0, 200.0);
}

#[test]
fn each_fault_has_a_window_of_its_own() {
    let series = |t_s: f64| match t_s {
        t if (20.0..25.0).contains(&t) || (50.0..51.0).contains(&t) => 0.0,
        t if t < 50.0 => 1000.0,
        _ => 600.0,
    };
    let faults = vec![fault(20.0, 20.0), fault(50.0, 50.0)];
    let found = recovered(&observed(80.0, series), faults);
    close(found[0].back_s, 5.0, 0.1);
    close(found[0].outage_s, 5.0, 0.1);
    close(found[1].outage_s, 1.0, 0.1);
    assert_eq!(found[1].back_s, None);
    close(found[1].before.map(|before| before.value), 1000.0, 2.0);
}

#[test]
fn of_faults_at_one_time_only_the_last_has_a_recovery() {
    let faults = vec![fault(20.0, 20.004), fault(20.001, 20.005)];
    let found = recovered(&observed(60.0, failover), faults);
    assert_eq!(found[0], Recovery::default());
    close(found[1].outage_s, 6.0, 0.1);
    close(found[1].lost_transactions, 6950.0, 60.0);
}

#[test]
fn faults_that_follow_each_other_share_the_throughput_before() {
    // The second fault comes before throughput is back.
    let faults = vec![fault(20.0, 20.0), fault(22.0, 22.0), fault(40.0, 40.0)];
    let found = recovered(&observed(60.0, failover), faults);
    assert_eq!(found[0].back_s, None);
    close(found[0].lost_transactions, 2000.0, 20.0);
    assert_eq!(found[1].before, found[0].before);
    close(found[1].back_s, 5.55, 0.05);
    // From 27.55 s to 40 s.
    close(found[2].before.map(|before| before.value), 1000.0, 20.0);
}

#[test]
fn a_fault_without_effect_has_no_recovery_and_does_not_end_that_of_another_one() {
    let mut faults = [fault(20.0, 20.0), fault(22.0, 22.0)];
    faults[1].effect_s = None;
    let observed = observed(60.0, failover);
    let series = recover(&observed, &mut faults.iter_mut().collect::<Vec<_>>());
    close(faults[0].recovery.as_ref().unwrap().back_s, 7.55, 0.05);
    assert_eq!(faults[1].recovery, None);
    assert_eq!(series.len(), 1);
    assert!(series[0].t_s.last().unwrap() > &59.0);
}

/// Noise of seconds with this standard deviation, as a share; the same in each run.
fn noise(share: f64) -> impl Fn(f64) -> f64 {
    // The sum of twelve uniform numbers is nearly normal.
    let mut state = 20_260_117_u64;
    let mut uniform = move || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) as f64 / f64::from(1_u32 << 31)
    };
    let of_second = move |_| 1.0 + share * ((0..12).map(|_| uniform()).sum::<f64>() - 6.0);
    let seconds: Vec<f64> = (0..400).map(of_second).collect();
    move |t_s: f64| seconds[t_s as usize]
}

#[test]
fn a_stall_before_a_fault_does_not_hide_that_throughput_stays_low() {
    let series = levels([(0.0, 1000.0), (5.0, 0.0), (6.0, 1000.0), (15.0, 550.0)]);
    let found = recovered(&observed(75.0, series), vec![fault(15.0, 15.0)]).remove(0);
    assert_eq!(found.back_s, None);
    assert!(found.censored.contains(&"recovery.back_s".to_owned()));
    close(Some(found.window_s), 60.0, 0.01);
    // 60 s of 14/15 * 1,000 - 550.
    close(found.lost_transactions, 23_000.0, 0.01 * 23_000.0);
}

#[test]
fn a_lucky_second_is_no_recovery() {
    let noisy = noise(0.08);
    let series =
        |level: f64, outage_s: f64| levels([(0.0, 1000.0), (20.0, 0.0), (20.0 + outage_s, level)]);
    for outage_s in [5.0, 6.0, 7.0, 9.0] {
        let low = series(880.0, outage_s);
        let found = one(&observed(80.0, |t_s| low(t_s) * noisy(t_s)));
        assert_eq!(found.back_s, None, "{found:?}");
        let lost = 1000.0 * outage_s + 120.0 * (60.0 - outage_s);
        close(found.lost_transactions, lost, 0.15 * lost);
        let full = series(1000.0, outage_s);
        let found = one(&observed(80.0, |t_s| full(t_s) * noisy(t_s)));
        close(found.back_s, outage_s, 0.05 * outage_s);
    }
}

#[test]
fn what_healing_costs_is_apart_from_the_failover() {
    let twice = |second_s: f64, third_s: f64| {
        levels([
            (0.0, 1000.0),
            (20.0, 0.0),
            (20.45, 1000.0),
            (second_s, 0.0),
            (third_s, 1000.0),
        ])
    };
    let series = twice(45.0, 45.6);
    let mut healed = fault(20.0, 20.0);
    (healed.heal_asked_s, healed.healed_s) = (Some(44.9), Some(45.7));
    let faults = [fault(20.0, 20.0), healed.clone()];
    let [never, found] =
        faults.map(|fault| recovered(&observed(80.0, series), vec![fault]).remove(0));
    close(never.back_s, 0.45, 0.05 * 0.45);
    assert_eq!(never.back_after_heal_s, None);
    close(found.back_s, 0.45, 0.05 * 0.45);
    close(found.back_after_heal_s, 0.7, 0.05 * 0.7);
    // Healed soon after the failover.
    (healed.heal_asked_s, healed.healed_s) = (Some(26.0), Some(26.1));
    let found = recovered(&observed(80.0, twice(26.0, 28.0)), vec![healed.clone()]).remove(0);
    close(found.back_s, 0.45, 0.05 * 0.45);
    close(found.back_after_heal_s, 2.0, 0.1);
    // Healing costs nothing.
    let found = recovered(&observed(80.0, |_| 1000.0), vec![healed]).remove(0);
    assert_eq!(
        (found.back_s, found.back_after_heal_s),
        (Some(0.0), Some(0.0))
    );
}

#[test]
fn a_planned_fault_counts_from_its_request() {
    let series = levels([(0.0, 1000.0), (20.0, 0.0), (23.0, 1000.0)]);
    // The outage ends when the process is gone or the other member has taken over.
    for effect_s in [21.5, 23.2] {
        for kind in [FaultKind::Stop, FaultKind::Restart, FaultKind::Switchover] {
            let planned = FaultRecord {
                kind,
                ..fault(20.0, effect_s)
            };
            let found = recovered(&observed(60.0, series), vec![planned]).remove(0);
            close(found.back_s, 3.0, 0.05 * 3.0);
            close(found.lost_transactions, 3000.0, 0.05 * 3000.0);
        }
    }
}

fn error(at_s: f64, code: &str, action: &'static str) -> TimedError {
    TimedError {
        at_s,
        code: code.to_owned(),
        message: "gone".to_owned(),
        action: action.into(),
    }
}

#[test]
fn errors_are_counted_from_the_request_and_deadlocks_are_no_failure() {
    let observed = Observed {
        errors: vec![
            error(19.0, "2013", "reconnected"),
            error(20.0005, "1213", RESTARTED),
            error(20.0008, "2013", "reconnected"),
            error(21.0, "2013", "reconnected"),
            error(60.0, "2013", "reconnected"),
        ],
        ..observed(60.0, failover)
    };
    let found = one(&observed);
    // The server's end was noticed later than it happened.
    close(found.first_error_s, -0.0002, 1e-9);
    let counts: Vec<(&str, u64)> = found
        .errors
        .iter()
        .map(|error| (error.errors.code.as_str(), error.errors.count))
        .collect();
    assert_eq!(counts, [("1213", 1), ("2013", 2)]);
    let lost = &found.errors[1];
    close(Some(lost.first_s), -0.0002, 1e-9);
    close(Some(lost.last_s), 0.999, 1e-9);
    assert_eq!(lost.most_per_s, 2);
}

#[test]
fn the_first_write_of_the_load_is_that_of_its_fault() {
    let ns = |at_s: f64| (at_s * 1e9) as u64;
    let first = |since_s, end_s| FirstWrite {
        since_ns: ns(since_s),
        end_ns: Some(ns(end_s)),
    };
    let observed = Observed {
        first_writes: vec![first(30.0, 41.0), first(20.0, 26.5), first(40.0, 40.2)],
        ..observed(60.0, failover)
    };
    let faults = vec![fault(20.0, 20.0), fault(30.0, 30.0), fault(40.0, 40.0)];
    let found = recovered(&observed, faults);
    let writes: Vec<_> = found.iter().map(|found| found.load_write_s).collect();
    assert_eq!(writes[..2], [Some(6.5), None]);
    close(writes[2], 0.2, 1e-9);
}

/// A probe of 1 ms, with a write of 1 ms.
fn probe(server: u32, asked_s: f64, role: Option<Role>, others: u64, accepts: bool) -> Probe {
    let answered_s = asked_s + 0.001;
    Probe {
        server,
        asked_s,
        answered_s,
        view: role.map(|role| ProbedView { role, others }),
        write: (role == Some(Role::Primary)).then_some(ProbedWrite {
            sent_s: answered_s,
            answered_s: answered_s + 0.001,
            is_accepted: accepts,
        }),
    }
}

/// Server 1 is killed at 20 s and back at 35 s; server 2 takes over at 26 s, and server 3 notices
/// at 24 s.
fn probes() -> Vec<Probe> {
    let times = || (0..6000).map(|step| f64::from(step) * STEP_S);
    let of_first = times().map(|t_s| match t_s {
        t if t < 20.0 => probe(1, t, Some(Role::Primary), 0, true),
        t if t < 34.0 => probe(1, t, None, 0, false),
        t if t < 35.0 => probe(1, t, Some(Role::Detached), 0, false),
        t => probe(1, t, Some(Role::Replica), 1, false),
    });
    let of_second = times().map(|t_s| match t_s {
        t if t < 25.0 => probe(2, t, Some(Role::Replica), 0, false),
        t => probe(2, t, Some(Role::Primary), 1, t >= 26.0),
    });
    let of_third = times().map(|t_s| {
        let others = u64::from(t_s >= 24.0);
        probe(3, t_s, Some(Role::Replica), others, false)
    });
    of_first.chain(of_second).chain(of_third).collect()
}

#[test]
fn probes_show_who_noticed_who_took_over_and_who_returned() {
    let mut observed = Observed {
        probes: probes(),
        ..observed(60.0, failover)
    };
    let found = one(&observed);
    close(found.detected_s, 4.0, 0.011);
    close(found.first_write_s, 6.0, 0.011);
    close(found.rejoined_s, 15.0, 0.011);
    close(found.redundant_s, 15.0, 0.011);
    close(found.unavailable_s, 6.0, 0.02);
    close(found.unavailable_longest_s, 6.0, 0.02);
    assert_eq!(found.two_primaries_s, Some(0.0));
    // The order of the members does not matter.
    observed.probes.reverse();
    observed
        .probes
        .sort_by(|one, other| one.asked_s.total_cmp(&other.asked_s));
    let again = one(&observed);
    assert_eq!(again.detected_s, found.detected_s);
    assert_eq!(again.first_write_s, found.first_write_s);
}

/// Probes every 10 ms of members that accept writes during these times.
fn accepting(members: &[&[(f64, f64)]]) -> Observed {
    let times = || (0..6000).map(|step| f64::from(step) * STEP_S);
    let of_member = |(server, spells): (u32, &&[(f64, f64)])| {
        let spells = spells.to_vec();
        times().map(move |t_s| {
            let accepts = spells.iter().any(|(from, to)| (*from..*to).contains(&t_s));
            probe(server, t_s, Some(Role::Primary), 0, accepts)
        })
    };
    Observed {
        probes: (1..).zip(members).flat_map(of_member).collect(),
        ..observed(60.0, |_| 1000.0)
    }
}

#[test]
fn times_without_an_accepted_write_add_up_and_end_with_the_window() {
    let found = one(&accepting(&[
        &[(0.0, 20.0), (21.0, 30.0), (33.0, 40.0)],
        &[(34.0, 50.0)],
    ]));
    close(found.unavailable_s, 14.0, 0.05);
    close(found.unavailable_longest_s, 10.0, 0.02);
    let hanging = one(&accepting(&[&[(0.0, 22.0), (31.0, 60.0)]]));
    // Commits hung, although the first write after the effect did not.
    close(hanging.first_write_s, 0.0, 0.02);
    close(hanging.unavailable_s, 9.0, 0.02);
    let lost = one(&accepting(&[&[(0.0, 20.0)]]));
    assert_eq!(lost.first_write_s, None);
    let never = "recovery.first_write_s".to_owned();
    assert!(lost.censored.contains(&never), "{lost:?}");
    // No member ever accepted a write: nothing is known.
    let mute = one(&accepting(&[&[]]));
    assert_eq!(
        (mute.unavailable_s, mute.censored.contains(&never)),
        (None, false)
    );
}

#[test]
fn two_members_that_accept_writes_at_the_same_time_are_noticed() {
    let mut split = accepting(&[&[(0.0, 28.0)], &[(25.0, 60.0)], &[]]);
    let found = one(&split);
    close(found.two_primaries_s, 3.0, 0.02);
    assert_eq!(found.unavailable_s, Some(0.0));
    split.has_many_primaries = true;
    assert_eq!(one(&split).two_primaries_s, None);
    let single = accepting(&[&[(0.0, 28.0)]]);
    assert_eq!(one(&single).two_primaries_s, None);
}

#[test]
fn a_planned_shutdown_refuses_writes_before_it_is_over() {
    let observed = accepting(&[&[(0.0, 20.3)], &[(22.0, 60.0)]]);
    for (effect_s, first_s) in [(21.0, 2.0), (22.5, 2.0), (20.05, 0.06)] {
        let planned = FaultRecord {
            kind: FaultKind::Stop,
            ..fault(20.0, effect_s)
        };
        let found = recovered(&observed, vec![planned]).remove(0);
        close(found.first_write_s, first_s, 0.02);
        close(found.unavailable_s, 1.7, 0.02);
    }
}

#[test]
fn members_are_all_in_service_once_the_last_one_has_returned() {
    let away = |server, spell: std::ops::Range<f64>| {
        let times = (0..600).map(|step| f64::from(step) * 0.1);
        times.map(move |t_s| {
            let is_away = spell.contains(&t_s);
            let role = if is_away {
                Role::Detached
            } else {
                Role::Replica
            };
            probe(server, t_s, Some(role), 0, false)
        })
    };
    let mut observed = Observed {
        probes: away(1, 21.0..30.0).chain(away(2, 22.0..40.0)).collect(),
        ..observed(60.0, |_| 1000.0)
    };
    close(one(&observed).redundant_s, 20.0, 0.2);
    observed.probes.extend(away(3, 50.0..60.0));
    let found = one(&observed);
    assert_eq!(found.redundant_s, None);
    assert!(found.censored.contains(&"recovery.redundant_s".to_owned()));
    // A member that was out of service before does not count.
    observed.probes.extend(away(4, 0.0..60.0));
    observed.probes.retain(|probe| probe.server != 3);
    close(one(&observed).redundant_s, 20.0, 0.2);
}

/// Seconds whose transactions all take the same time, with waiting arrivals.
fn seconds(end_s: u64, of: impl Fn(u64) -> (u64, Option<u64>)) -> Vec<ResponseSecond> {
    let second = |at_s: u64| {
        let (response_ms, backlog) = of(at_s);
        let mut slice = crate::slice::Slice::new(0);
        (0..100).for_each(|_| slice.response.record(response_ms * 1_000_000));
        ResponseSecond::from(&crate::slice::Second {
            start_ns: at_s * 1_000_000_000,
            end_ns: (at_s + 1) * 1_000_000_000,
            phase: crate::slice::Phase::Measure,
            slice,
            backlog,
            workers: Vec::new(),
        })
    };
    (0..end_s).map(second).collect()
}

#[test]
fn response_times_are_told_before_during_and_after() {
    let observed = Observed {
        seconds: seconds(60, |at_s| match at_s {
            at if at < 20 => (10, None),
            at if at < 29 => (300, None),
            _ => (20, None),
        }),
        ..observed(60.0, failover)
    };
    let found = one(&observed);
    close(found.p99_before_ms, 10.0, 0.1);
    close(found.p99_during_ms, 300.0, 1.0);
    close(found.p99_after_ms, 20.0, 0.1);
    let none = one(&Observed {
        seconds: Vec::new(),
        ..observed
    });
    assert_eq!((none.p99_before_ms, none.p99_during_ms), (None, None));
}

#[test]
fn an_open_loop_is_back_once_its_backlog_is_gone() {
    // 5 s without completions, then twice as many for 5 s.
    let series = levels([(0.0, 1000.0), (20.0, 0.0), (25.0, 2000.0), (30.0, 1000.0)]);
    let waiting = |at_s: u64| match at_s {
        at if at < 20 => 3,
        at if at < 25 => 1000 * (at - 19),
        at if at < 30 => 1000 * (29 - at),
        _ => 5,
    };
    let mut observed = observed(60.0, series);
    // Twice as many do not hide the outage.
    let found = one(&observed);
    close(found.back_s, 5.0, 0.1);
    close(found.lost_transactions, 5000.0, 50.0);
    observed.seconds = seconds(60, |at_s| (1, Some(waiting(at_s))));
    close(one(&observed).back_s, 10.0, 0.1);
    // The backlog grows until the end.
    observed.seconds = seconds(60, |at_s| (1, Some(at_s.saturating_sub(20) * 100)));
    assert_eq!(one(&observed).back_s, None);
}

#[test]
fn a_write_that_was_sent_before_the_effect_does_not_count() {
    let mut late = probe(1, 19.99, Some(Role::Primary), 0, true);
    late.write.as_mut().unwrap().answered_s = 22.0;
    let observed = Observed {
        probes: vec![late, probe(1, 23.0, Some(Role::Primary), 0, true)],
        ..observed(60.0, failover)
    };
    close(one(&observed).first_write_s, 3.001, 1e-9);
}

#[test]
fn the_last_gasp_of_a_server_is_no_recovery() {
    let accepting = |t_s| probe(1, t_s, Some(Role::Primary), 0, true);
    let gone = |t_s| probe(1, t_s, None, 0, false);
    let mut observed = Observed {
        probes: vec![accepting(20.01), gone(20.02), accepting(25.0)],
        ..observed(60.0, failover)
    };
    close(one(&observed).first_write_s, 5.001, 1e-9);
    // The connection survived and was lost much later.
    observed.probes[1] = gone(21.0);
    close(one(&observed).first_write_s, 0.011, 1e-9);
    // Another member does not depend on the killed one.
    observed.probes[1] = gone(20.02);
    observed.probes[0].server = 2;
    close(one(&observed).first_write_s, 0.011, 1e-9);
}

#[test]
fn a_member_that_was_always_in_service_did_not_rejoin() {
    let times = (0..600).map(|step| f64::from(step) * 0.1);
    let probes = times.map(|t_s| probe(1, t_s, Some(Role::Replica), 0, false));
    let mut observed = Observed {
        probes: probes.collect(),
        ..observed(60.0, failover)
    };
    assert_eq!(one(&observed).rejoined_s, None);
    // Nor did one that returned and left again.
    for (at, role) in [(250, None), (500, Some(Role::Detached))] {
        observed.probes[at] = probe(1, f64::from(at as u32) * 0.1, role, 0, false);
    }
    close(one(&observed).rejoined_s, 30.1, 0.01);
    observed.probes.truncate(501);
    assert_eq!(one(&observed).rejoined_s, None);
}

#[test]
fn a_member_that_is_busy_for_a_moment_has_not_left() {
    let times = (0..600).map(|step| f64::from(step) * 0.1);
    let probes = times.map(|t_s| match t_s {
        t if (20.05..20.25).contains(&t) => probe(1, t, None, 0, false),
        t => probe(1, t, Some(Role::Primary), 0, !(30.0..39.0).contains(&t)),
    });
    let mut observed = Observed {
        probes: probes.collect(),
        ..observed(60.0, failover)
    };
    // The first absence was short, too, but it was the fault's.
    close(one(&observed).rejoined_s, 20.302 - 20.0, 0.01);
    observed.probes[599] = probe(1, 59.9, None, 0, false);
    close(one(&observed).rejoined_s, 20.302 - 20.0, 0.01);
    // The member reports that it is detached, or is away for longer.
    observed.probes[450] = probe(1, 45.0, Some(Role::Detached), 0, false);
    close(one(&observed).rejoined_s, 45.102 - 20.0, 0.01);
    observed
        .probes
        .retain(|probe| !(46.05..58.25).contains(&probe.asked_s));
    observed.probes[460] = probe(1, 46.0, None, 0, false);
    close(one(&observed).rejoined_s, 58.302 - 20.0, 0.01);
}

#[test]
fn a_distribution_has_its_values_and_what_never_happened_is_longest() {
    use Observation::{Exactly, Longer};
    let found = Distribution::of([9.0, 6.5, 21.0, 7.0].map(Exactly)).unwrap();
    assert_eq!(found.values(), [6.5, 7.0, 9.0, 21.0].map(Exactly));
    let shown = |all: &Distribution| (all.min(), all.median(), all.max());
    assert_eq!(shown(&found), (Exactly(6.5), Exactly(8.0), Exactly(21.0)));
    let some = Distribution::of([Longer(40.0), Exactly(9.0), Exactly(7.0)]).unwrap();
    assert_eq!(shown(&some), (Exactly(7.0), Exactly(9.0), Longer(40.0)));
    assert_eq!(some.happened(), 2);
    let half = Distribution::of([Longer(40.0), Exactly(9.0)]).unwrap();
    assert_eq!(half.median(), Longer(24.5));
    let most = Distribution::of([Longer(40.0), Exactly(9.0), Longer(30.0)]).unwrap();
    assert_eq!(most.median(), Longer(30.0));
    assert_eq!(Distribution::of([]), None);
}

#[test]
fn seconds_are_counted_from_the_effect() {
    let observed = observed(30.0, failover);
    let mut fault = fault(20.0, 20.001);
    let series = recover(&observed, &mut [&mut fault]).remove(0);
    assert_eq!(series.place(), fault.place());
    let seconds = series.by_second(fault.origin_s().unwrap());
    let covered: Vec<i32> = seconds.keys().copied().collect();
    assert_eq!(
        covered,
        (-4..9).collect::<Vec<_>>(),
        "whole seconds of the series"
    );
    close(seconds.get(&-1).copied(), 1000.0, 5.0);
    assert_eq!(seconds[&2], 0.0, "no transactions are a 0");
    close(seconds.get(&6).copied(), 250.0, 5.0);

    let endless = FaultSeries {
        t_s: vec![-1e300, 1e300],
        completed: vec![u64::MAX, u64::MAX],
        ..FaultSeries::default()
    };
    assert_eq!(endless.by_second(0.0).len(), 120);
    assert!(FaultSeries::default().by_second(0.0).is_empty());
}

mod any_series {
    use proptest::prelude::*;

    use super::*;

    /// Counts at any times, and faults that are requested at any times.
    fn seen() -> impl Strategy<Value = (Observed, Vec<FaultRecord>)> {
        let steps = proptest::collection::vec((0.0..0.3_f64, 0_u64..50), 0..400);
        let faults = proptest::collection::vec((0.0..60.0_f64, 0.0..2.0_f64), 1..5);
        (steps, faults).prop_map(|(steps, mut asked)| {
            let (mut t_s, mut total) = (0.0, 0);
            let count = |(step_s, completed): (f64, u64)| {
                t_s += step_s;
                total += completed;
                Count { t_s, total }
            };
            let counts: Vec<Count> = steps.into_iter().map(count).collect();
            asked.sort_by(|one, other| one.0.total_cmp(&other.0));
            let faults = asked
                .into_iter()
                .map(|(at_s, after_s)| fault(at_s, at_s + after_s));
            let observed = Observed {
                end_s: t_s,
                counts: Counts(counts),
                ..Observed::default()
            };
            (observed, faults.collect())
        })
    }

    proptest! {
        #[test]
        fn what_is_told_lies_in_the_window((observed, faults) in seen()) {
            let ends = faults.iter().skip(1).map(|fault| fault.asked_s);
            let ends: Vec<f64> = ends.chain([f64::INFINITY]).collect();
            let begins: Vec<f64> = faults.iter().map(|fault| fault.effect_s.unwrap()).collect();
            for ((found, end_s), begin_s) in recovered(&observed, faults).iter().zip(ends).zip(begins) {
                let end_s = end_s.min(observed.end_s);
                for after_s in [found.back_s, found.steady_s].into_iter().flatten() {
                    prop_assert!(after_s >= 0.0 && begin_s + after_s <= end_s);
                }
                for share in [found.outage_s, found.lowest_share, found.lost_transactions] {
                    prop_assert!(share.is_none_or(|share| share.is_finite() && share >= 0.0));
                }
                prop_assert!(found.outage_s.is_none_or(|outage_s| outage_s <= observed.end_s));
                for mean in [found.before, found.during, found.after].into_iter().flatten() {
                    prop_assert!(mean.value.is_finite() && mean.value >= 0.0);
                }
            }
        }
    }
}
