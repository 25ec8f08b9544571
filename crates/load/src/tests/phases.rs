//! Loads whose rate or number of active users changes, and mixes of workloads.

use std::collections::BTreeSet;
use std::time::Duration;

use proptest::prelude::*;
use workload::mix::Mix;
use workload::session::FailureKind;

use super::script::{Scripted, done, fails};
use super::*;
use crate::Arrivals;

fn in_phases(text: &str, pace: impl Fn(f64) -> Pace) -> LoadSpec {
    let phases: plan::Phases = text.parse().unwrap();
    LoadSpec {
        warmup: Duration::from_secs(1),
        time: Some(phases.time()),
        pace: pace(phases.mean()),
        phases: Some(phases),
        ..spec()
    }
}

fn constant_arrivals(per_s: f64) -> Pace {
    let arrivals = Arrivals::Constant;
    Pace::Open { per_s, arrivals }
}

/// Transactions of each second.
fn counts(spec: &LoadSpec, service_ns: u64) -> Vec<u64> {
    let server = Scripted::answering(&simulation(), move |_| done(service_ns));
    let driven = drive(spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    let seconds = driven.seconds.iter();
    let seconds = seconds.filter(|second| second.phase != Phase::Drain);
    seconds
        .map(|second| second.slice.response.count())
        .collect()
}

#[test]
fn arrivals_follow_the_steps_and_ramps_of_the_rate() {
    let spec = in_phases(
        "2s 100/s, 1s 300/s, 2s 100..300/s, 1s 50/s",
        constant_arrivals,
    );
    // The warm-up has the rate of the first phase.
    assert_eq!(counts(&spec, MS), [100, 100, 100, 300, 150, 250, 50]);
}

#[test]
fn as_many_users_are_active_as_the_phase_has_whatever_the_workers() {
    for workers in [1, 3] {
        let mut spec = in_phases("1s 2 threads, 1s 8 threads, 2s 1 threads", |_| Pace::Closed);
        (spec.users, spec.workers, spec.connect_limit) = (8, workers, 8);
        let counts = counts(&spec, 10 * MS);
        // A transaction that runs at the end of a phase completes.
        for (count, expected) in counts.iter().zip([200, 200, 800, 100, 100]) {
            assert!(count.abs_diff(expected) <= 8, "{counts:?}");
        }
    }
}

#[test]
fn users_become_active_one_by_one_on_a_ramp() {
    let mut spec = in_phases("8s 1..9 threads", |_| Pace::Closed);
    (spec.users, spec.connect_limit) = (9, 9);
    let counts = counts(&spec, 10 * MS);
    // In each second one more, and one in the warm-up.
    for (count, expected) in counts
        .iter()
        .zip([100, 150, 250, 350, 450, 550, 650, 750, 850])
    {
        assert!(count.abs_diff(expected) <= 5, "{counts:?}");
    }
}

#[test]
fn a_load_ends_although_users_were_never_active() {
    let mut spec = in_phases("2s 1 threads", |_| Pace::Closed);
    spec.users = 4;
    assert_eq!(counts(&spec, 10 * MS), [100, 100, 100]);
}

#[test]
fn every_workload_of_a_mix_has_response_times_of_its_own() {
    let mut spec = lasting_s(20);
    spec.workers = 2;
    let mix: Mix = "oltp_point_select:3, oltp_update_index:1".parse().unwrap();
    let options = Options::default();
    let workload = BuiltIn::new(mix, &options, &Dialect::STANDARD, spec.seed, spec.users).unwrap();
    assert_eq!(workload.kinds(), 2);
    // The first error restarts a transaction, which stays the same one.
    let server = Scripted::answering(&simulation(), |request| match request.number % 100 {
        7 => fails(FailureKind::Restart, 1213),
        _ => done(2 * MS),
    });
    let driven = drive_own(&workload, &spec, &server, &Stop::default(), |_, _| {});
    let total = driven.measured();
    let counts: Vec<u64> = total.kinds.iter().map(|kind| kind.count()).collect();
    assert_eq!(counts.iter().sum::<u64>(), total.response.count());
    let share = counts[0] as f64 / total.response.count() as f64;
    assert!((0.73..0.77).contains(&share), "{counts:?}");
    let statements: Vec<u64> = total.statements.iter().map(|one| one.count()).collect();
    assert_eq!(statements, counts);
}

#[test]
fn a_single_workload_keeps_its_response_times_once() {
    let server = Scripted::answering(&simulation(), |_| done(MS));
    let driven = drive(&lasting_s(1), &server);
    assert!(driven.measured().kinds.is_empty());
}

proptest! {
    /// The active users of each worker differ by at most one, except where workers have fewer.
    #[test]
    fn ranks_are_unique_and_spread_over_the_workers(workers in 1..20_u32, more in 0..200_u32) {
        let mut spec = spec();
        (spec.users, spec.workers) = (workers + more, workers);
        let mut ranks = BTreeSet::new();
        for worker in 0..workers {
            let users = spec.share(spec.users, worker).len() as u32;
            ranks.extend((0..users).map(|index| spec.rank(worker, index)));
        }
        prop_assert!(ranks.into_iter().eq(0..spec.users));
        let firsts: BTreeSet<u32> = (0..workers).map(|worker| spec.rank(worker, 0)).collect();
        prop_assert!(firsts.into_iter().eq(0..workers));
    }
}
