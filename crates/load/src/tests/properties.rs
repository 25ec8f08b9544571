//! Properties of every load, whatever its server does.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use proptest::prelude::*;
use workload::session::FailureKind;

use super::script::{Answer, Asked, Entry, Request, Scripted, done, error};
use super::*;
use crate::Arrivals;

const IGNORED: u32 = 1062;

/// A number that looks random but depends only on its arguments.
fn hash(seed: u64, request: &Request) -> u64 {
    let mixed = (seed ^ u64::from(request.number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 16
}

/// A server whose statements take up to `longest_ms`, some of which fail.
fn moody(seed: u64, longest_ms: u64, failures_percent: u64) -> Scripted {
    let simulation = simulation();
    Scripted::new(&simulation, move |request| {
        let random = hash(seed, &request);
        let after_ns = 1 + random % (longest_ms * MS);
        let fails = (random >> 32) % 100 < failures_percent;
        match request.asked {
            // The first connections succeed, so that the load begins.
            Asked::Connection if request.number < 20 => done(MS),
            Asked::Connection if fails => {
                Answer::After(after_ns, Err(error(FailureKind::Lost, 1040)))
            }
            Asked::Statement if fails => Answer::After(after_ns, Err(failure(random >> 40))),
            Asked::Connection | Asked::Statement => done(after_ns),
            Asked::Rollback | Asked::Close => done(0),
        }
    })
}

fn failure(random: u64) -> workload::session::SessionError {
    match random % 4 {
        0 => error(FailureKind::Lost, 2013),
        1 => error(FailureKind::Away, 1053),
        2 => error(FailureKind::Restart, 1213),
        _ => error(FailureKind::Refused, IGNORED),
    }
}

fn pace() -> impl Strategy<Value = Pace> {
    let arrivals = prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)];
    prop_oneof![
        Just(Pace::Closed),
        (1.0..2000.0, arrivals).prop_map(|(per_s, arrivals)| Pace::Open { per_s, arrivals }),
    ]
}

prop_compose! {
    fn loads()(
        (users, workers, connect_limit) in (1..20_u32, 1..5_u32, 1..8_u32),
        (warmup_ms, time_ms, think_ms) in (0..1500_u64, 1..4000_u64, prop_oneof![Just(0), 0..50_u64]),
        events in proptest::option::of(1..3000_u64),
        pace in pace(),
        seed: u64,
    ) -> LoadSpec {
        LoadSpec {
            users,
            workers,
            connect_limit,
            warmup: Duration::from_millis(warmup_ms),
            time: Some(Duration::from_millis(time_ms)),
            think: constant(Duration::from_millis(think_ms)),
            events,
            pace,
            seed,
            ignored_errors: vec![IGNORED.to_string()],
            ..spec()
        }
    }
}

fn replies(log: &[Entry], is_ok: bool) -> u64 {
    let of_statements = log.iter().filter(|entry| {
        entry.request.asked == Asked::Statement && entry.replied.is_some_and(|(_, ok)| ok == is_ok)
    });
    of_statements.count() as u64
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(64)
    })]

    /// Each statement, error and connection of the server's log is in exactly one second, and
    /// the seconds leave no gap.
    #[test]
    fn nothing_is_lost_or_counted_twice(
        spec in loads(),
        seed: u64,
        longest_ms in 1..60_u64,
        failures_percent in prop_oneof![Just(0), 0..60_u64],
    ) {
        let server = moody(seed, longest_ms, failures_percent);
        let driven = drive(&spec, &server);
        let log = server.log();
        let seconds = &driven.seconds;
        for pair in seconds.windows(2) {
            prop_assert_eq!(pair[0].end_ns, pair[1].start_ns);
            prop_assert!(pair[0].slice.response.count() == 0 || pair[0].length_ns() > 0);
        }
        // All connections except those that replaced lost ones are the users' first.
        let accepted = server.requests(Asked::Connection);
        let accepted = accepted.iter().filter(|entry| entry.replied.is_some_and(|(_, ok)| ok));
        let accepted = accepted.count() as u64;
        let refused = server.requests(Asked::Connection).len() as u64 - accepted;
        let mut total = Slice::new(seconds.first().map_or(0, |s| s.slice.statements.len()));
        for second in seconds {
            total.merge(&second.slice);
        }
        let (done, failed) = (replies(&log, true), replies(&log, false));
        prop_assert_eq!(total.response.count(), done);
        prop_assert_eq!(total.statement_count(), done);
        // An attempt to reconnect that the end of the load interrupts is neither.
        prop_assert!(total.error_count() <= failed + refused);
        prop_assert!(total.error_count() + u64::from(spec.users) >= failed + refused);
        prop_assert_eq!(total.reconnects, accepted - u64::from(spec.users));
        if let Pace::Open { .. } = spec.pace {
            prop_assert_eq!(total.service.count(), done);
            prop_assert!(total.service.sum_ns() <= total.response.sum_ns());
        }
    }

    /// A load that ignores errors ends only by its time, its number of transactions, or a stop, and
    /// whatever runs then completes.
    #[test]
    fn a_load_ends_on_time_and_leaves_nothing_running(
        spec in loads(),
        seed: u64,
        longest_ms in 1..60_u64,
        failures_percent in prop_oneof![Just(0), 0..60_u64],
    ) {
        let server = moody(seed, longest_ms, failures_percent);
        let driven = drive(&spec, &server);
        let outcome = driven.outcome();
        let is_expected = matches!(outcome.end, End::Completed | End::ServerLost { .. });
        prop_assert!(is_expected, "{:?}", outcome.end);
        prop_assert_eq!(outcome.unfinished.cancelled, 0);
        prop_assert!(outcome.unfinished.count <= u64::from(spec.users));
        let begin_ns = driven.seconds.first().map_or(START, |second| second.start_ns);
        let length = spec.warmup + spec.time.unwrap();
        let stopped_ns = begin_ns + length.as_nanos() as u64;
        // A running statement, or an attempt to reconnect for each turn at the connect limit.
        let turns = 1 + u64::from(spec.users);
        prop_assert!(driven.ended_ns <= stopped_ns + turns * longest_ms * MS);
        for entry in server.requests(Asked::Statement) {
            prop_assert!(entry.request.at_ns <= stopped_ns);
        }
        if let Some(events) = spec.events {
            // A transaction of the warm-up may end in the measurement.
            let limit = events + u64::from(spec.users);
            prop_assert!(driven.measured().response.count() <= limit);
        }
    }

    /// Arrivals start in order, each with the user that is free first (the recursion of Kiefer and
    /// Wolfowitz), whatever the number of workers.
    #[test]
    fn an_open_loop_is_one_queue(
        users in 1..16_u32,
        workers in 1..5_u32,
        load in 0.2..1.5_f64,
        arrivals in prop_oneof![Just(Arrivals::Constant), Just(Arrivals::Poisson)],
        seed: u64,
    ) {
        let mean_s = 0.010;
        let per_s = load * f64::from(users) / mean_s;
        let mut spec = lasting_s(2);
        spec.users = users;
        spec.workers = workers;
        spec.connect_limit = users;
        spec.pace = Pace::Open { per_s, arrivals };
        spec.seed = seed;
        let service_ns = move |request: &Request| MS + hash(seed, request) % (18 * MS);
        let server = Scripted::answering(&simulation(), move |request| done(service_ns(&request)));
        let driven = drive(&spec, &server);
        let rate = || crate::schedule::Schedule::constant(per_s, START);
        let mut queue = crate::arrivals::ArrivalQueue::new(arrivals, rate(), seed, crate::Part::WHOLE);
        let mut free: BinaryHeap<_> = (0..users).map(|_| Reverse(0)).collect();
        for entry in server.requests(Asked::Statement) {
            let crate::arrivals::NextAction::Start { due_ns, .. } = queue.take(u64::MAX) else {
                unreachable!("everything is due")
            };
            let Reverse(free_ns) = free.pop().unwrap();
            let start_ns = due_ns.max(free_ns);
            prop_assert_eq!(entry.request.at_ns, start_ns);
            free.push(Reverse(start_ns + service_ns(&entry.request)));
        }
        // Due arrivals that were not started are the backlog.
        let last = driven.phase(Phase::Measure).last().copied().unwrap();
        let mut due = crate::arrivals::ArrivalQueue::new(arrivals, rate(), seed, crate::Part::WHOLE);
        let started = times(&server, Asked::Statement).len() as u64;
        prop_assert_eq!(last.backlog, Some(due.backlog(last.end_ns) - started));
    }

    /// A run is a function of seed and server.
    #[test]
    fn the_same_load_runs_the_same_way(spec in loads(), seed: u64) {
        let run = || {
            let server = moody(seed, 30, 30);
            let driven = drive(&spec, &server);
            (server.log(), driven.seconds)
        };
        prop_assert_eq!(run(), run());
    }
}
