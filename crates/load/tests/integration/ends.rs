//! Loads on real threads and the system's clock: what simulated time cannot show. All rules
//! of how a load runs and ends are tested in simulated time, in src/tests.

use std::time::{Duration, Instant};

use crate::common::{Asked, LONG, Scripted, measured, never, now, spec, total};
use load::{Arrivals, End, LoadSpec, Pace};
use workload::session::Reply;

const SERVICE: Duration = Duration::from_millis(2);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(120);

#[test]
fn the_main_thread_is_notified_of_the_last_transaction() {
    let mut spec = spec();
    (spec.users, spec.events, spec.time) = (1, Some(3), None);
    // Polling every 20 ms can never be this quick; a busy machine is not always.
    let deadline = Instant::now() + SLACK;
    let is_quick = || {
        let (outcome, seconds) = measured(&spec, &Scripted::taking(SERVICE));
        assert_eq!(outcome.end, End::Completed);
        assert_eq!(total(&seconds).response.count(), 3);
        let measured_ns: u64 = seconds.iter().map(|second| second.length_ns()).sum();
        Duration::from_nanos(measured_ns) < 3 * SERVICE + Duration::from_millis(8)
    };
    while !is_quick() {
        assert!(Instant::now() < deadline, "no notification");
    }
}

#[test]
fn all_workers_stop_and_cancel_what_hangs() {
    let server = Scripted::new(|asked| match asked {
        Asked::Statement => never(),
        Asked::Connection | Asked::Rollback => now(Ok(Reply::default())),
    });
    let mut spec = spec();
    spec.workers = 3;
    spec.time = Some(Duration::from_millis(50));
    spec.grace = Duration::from_millis(50);
    let begun = Instant::now();
    let (outcome, _) = measured(&spec, &server);
    assert_eq!(outcome.unfinished.cancelled, 4);
    assert!(begun.elapsed() < SLACK, "{:?}", begun.elapsed());
}

#[test]
fn the_end_of_a_load_wakes_users_that_wait() {
    let mut thinking = spec();
    thinking.think.mean = LONG;
    let idle = LoadSpec {
        pace: Pace::Open {
            per_s: 0.001,
            arrivals: Arrivals::Constant,
        },
        ..spec()
    };
    for spec in [thinking, idle] {
        let mut spec = spec;
        (spec.workers, spec.time) = (2, Some(Duration::from_millis(50)));
        let begun = Instant::now();
        let (outcome, _) = measured(&spec, &Scripted::taking(SERVICE));
        assert_eq!(outcome.unfinished.cancelled, 0);
        assert!(begun.elapsed() < SLACK, "{:?}", begun.elapsed());
    }
}

#[test]
fn open_loop_users_sleep_until_their_arrivals() {
    let spec = LoadSpec {
        workers: 2,
        time: None,
        events: Some(100),
        pace: Pace::Open {
            per_s: 1000.0,
            arrivals: Arrivals::Constant,
        },
        ..spec()
    };
    let (outcome, seconds) = measured(&spec, &Scripted::taking(Duration::from_micros(100)));
    assert_eq!(outcome.end, End::Completed);
    assert_eq!(total(&seconds).response.count(), 100);
    let measured_ns: u64 = seconds.iter().map(|second| second.length_ns()).sum();
    // The last arrival is due after 99.5 ms, however quick the server is.
    assert!(measured_ns >= 99_500_000, "{measured_ns}");
}
