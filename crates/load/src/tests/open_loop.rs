//! Open loops: intended starts, lateness, backlog, and one queue for all users.

use std::time::Duration;

use super::script::{Answer, Asked, Request, Scripted, done};
use super::*;
use crate::Arrivals;

/// Constant arrivals every 10 ms, for two seconds.
fn every_10_ms(users: u32) -> LoadSpec {
    LoadSpec {
        users,
        connect_limit: users,
        pace: Pace::Open {
            per_s: 100.0,
            arrivals: Arrivals::Constant,
        },
        ..lasting_s(2)
    }
}

/// When arrival number `number` is due: in the middle of its 10 ms.
fn due_ns(number: u64) -> u64 {
    START + 5 * MS + number * 10 * MS
}

fn drive_script(
    spec: &LoadSpec,
    script: impl Fn(Request) -> Answer + 'static,
) -> (Driven, Scripted) {
    let server = Scripted::answering(&simulation(), script);
    (drive(spec, &server), server)
}

#[test]
fn idle_users_start_each_arrival_when_it_is_due() {
    for (users, workers) in [(1, 1), (4, 1), (4, 3)] {
        let mut spec = every_10_ms(users);
        spec.workers = workers;
        let (driven, server) = drive_script(&spec, |_| done(2 * MS));
        let expected: Vec<u64> = (0..200).map(due_ns).collect();
        assert_eq!(times(&server, Asked::Statement), expected);
        let total = driven.measured();
        assert_eq!(total.response.sum_ns(), u128::from(200 * 2 * MS));
        assert_eq!(total.service.sum_ns(), total.response.sum_ns());
        // Every arrival was awaited, and none was noticed late.
        assert_eq!((total.lateness.count(), total.lateness.sum_ns()), (200, 0));
        let backlogs = driven.seconds.iter().map(|second| second.backlog);
        assert!(backlogs.into_iter().all(|backlog| backlog == Some(0)));
    }
}

#[test]
fn an_arrival_that_waits_for_a_user_has_been_waiting_since_it_was_due() {
    // The statement of arrival 10 takes 10 ms longer than five arrivals.
    let (driven, server) = drive_script(&every_10_ms(1), |request| match request.number {
        10 => done(60 * MS),
        _ => done(2 * MS),
    });
    let total = driven.measured();
    let starts = times(&server, Asked::Statement);
    let free_ns = due_ns(10) + 60 * MS;
    // Arrivals 11 to 16 become due meanwhile and start one after another.
    assert_eq!(starts[11], free_ns);
    assert_eq!(starts[12], free_ns + 2 * MS);
    let waits = starts
        .iter()
        .zip(0..)
        .map(|(start, number)| start - due_ns(number));
    let waited: u64 = waits.sum();
    let service = 199 * 2 * MS + 60 * MS;
    assert_eq!(total.service.sum_ns(), u128::from(service));
    assert_eq!(total.response.sum_ns(), u128::from(service + waited));
    // Waiting for a user is not lateness of the generator.
    assert_eq!(total.lateness.sum_ns(), 0);
    assert!(total.lateness.count() < 200);
}

#[test]
fn overload_is_a_growing_backlog_and_no_abort() {
    let mut spec = every_10_ms(1);
    spec.time = Some(Duration::from_secs(4));
    let (driven, _) = drive_script(&spec, |_| done(20 * MS));
    assert_eq!(driven.outcome().end, End::Completed);
    let seconds = driven.phase(Phase::Measure);
    let backlogs: Vec<u64> = seconds.iter().map(|s| s.backlog.unwrap()).collect();
    // 100 arrive each second and 50 complete.
    for (backlog, expected) in backlogs.iter().zip([50, 100, 150, 200]) {
        assert!(backlog.abs_diff(expected) <= 1, "{backlogs:?}");
    }
    let longest: Vec<u64> = seconds
        .iter()
        .map(|second| second.slice.response.max_ns().unwrap() / (500 * MS))
        .collect();
    assert_eq!(longest, [1, 2, 3, 4]);
    let total = driven.measured();
    assert!(total.service.max_ns().unwrap() < 21 * MS);
    // Arrivals that never started are in the backlog and nowhere else.
    assert_eq!(driven.outcome().unfinished.count, 1);
}

#[test]
fn a_blocked_worker_delays_only_its_own_statement() {
    let server = Scripted::blocking(20, SECOND, MS);
    let mut spec = every_10_ms(2);
    spec.workers = 2;
    let driven = drive(&spec, &server);
    let total = driven.measured();
    assert_eq!(total.response.count(), 200);
    let response = total.response.histogram();
    assert_eq!(response.count_between(2 * MS, 2 * SECOND), 1);
    assert!(total.response.max_ns().unwrap() >= SECOND - MS);
    assert!(total.lateness.max_ns().unwrap() < MS);
}

#[test]
fn a_wake_up_that_a_busy_worker_delays_is_lateness() {
    let server = Scripted::blocking(20, 45 * MS, MS);
    // Both users share the worker, so nobody else can start what is due.
    let driven = drive(&every_10_ms(2), &server);
    let total = driven.measured();
    let starts = times(&server, Asked::Statement);
    let unblocked_ns = due_ns(20) + 45 * MS;
    assert_eq!(starts[21], unblocked_ns);
    let late_ns = unblocked_ns - due_ns(21);
    let longest = total.lateness.max_ns().unwrap();
    assert!(longest.abs_diff(late_ns) < late_ns / 100, "{longest}");
    // It counts in the response time, too, but not in the service time.
    assert!(total.response.max_ns().unwrap() >= late_ns);
}

#[test]
fn a_transaction_that_is_due_at_the_end_does_not_start_after_it() {
    let (driven, server) = drive_script(&every_10_ms(1), |_| done(30 * MS));
    let end_ns = START + 2 * SECOND;
    let starts = times(&server, Asked::Statement);
    assert!(starts.iter().all(|at_ns| *at_ns < end_ns));
    assert_eq!(driven.total(Phase::Drain).response.count(), 1);
    assert!(driven.ended_ns <= end_ns + 30 * MS);
}

#[test]
fn a_main_thread_that_ends_the_measurement_late_adds_no_arrivals() {
    for users in [1, 4] {
        let server = Scripted::answering(&simulation(), |_| done(2 * MS));
        let simulation = server.simulation();
        let spec = every_10_ms(users);
        let driven = drive_until(&spec, &server, &Stop::default(), |event, _| {
            if let LoadEvent::Second(second) = event
                && second.start_ns == START
            {
                simulation.run_until(simulation.now_ns() + 1300 * MS, || false);
            }
        });
        let last = driven.phase(Phase::Measure).pop().unwrap();
        assert_eq!(last.end_ns, START + 2300 * MS);
        assert_eq!(times(&server, Asked::Statement).len(), 200);
        assert_eq!(
            (driven.measured().response.count(), last.backlog),
            (200, Some(0))
        );
    }
}

#[test]
fn arrivals_of_the_warm_up_are_not_limited_but_those_of_the_measurement_are() {
    let mut spec = every_10_ms(4);
    (spec.warmup, spec.events) = (Duration::from_secs(1), Some(30));
    let (driven, _) = drive_script(&spec, |_| done(2 * MS));
    assert_eq!(driven.total(Phase::Warmup).response.count(), 100);
    assert_eq!(driven.measured().response.count(), 30);
}

/// The same replies, recorded by one process, or by three whose seconds travel to a fourth.
#[test]
fn the_parts_of_a_load_record_what_the_whole_does() {
    let reply =
        |request: Request| done(MS / 10 + request.at_ns.wrapping_mul(2_654_435_761) % (9 * MS));
    let whole = LoadSpec {
        events: Some(150),
        ..every_10_ms(6)
    };
    let (driven, _) = drive_script(&whole, reply);
    let mut together: Option<Slice> = None;
    for number in 0..3 {
        let part = LoadSpec {
            part: Part { number, of: 3 },
            ..whole.clone()
        };
        let (driven, _) = drive_script(&part, reply);
        assert_eq!(driven.measured().response.count(), 50);
        let sent = serde_json::to_vec(&driven.measured()).unwrap();
        let received: Slice = serde_json::from_slice(&sent).unwrap();
        assert_eq!(recorded(&received), recorded(&driven.measured()));
        match &mut together {
            Some(together) => together.merge(&received),
            None => together = Some(received),
        }
    }
    assert_eq!(recorded(&together.unwrap()), recorded(&driven.measured()));
}

/// The exact sum of each histogram, and its durations with their counts. They are the same whatever
/// room their histogram has.
fn recorded(slice: &Slice) -> Vec<(u128, Vec<(u64, u32)>)> {
    let histograms = [&slice.response, &slice.service, &slice.lateness].into_iter();
    let histograms = histograms.chain(&slice.statements);
    let recorded = histograms.map(|latency| {
        let buckets = latency.histogram().iter_recorded();
        let buckets = buckets.map(|one| (one.value_iterated_to(), one.count_at_value()));
        (latency.sum_ns(), buckets.collect())
    });
    recorded.collect()
}
