use std::time::{Duration, Instant};

use load::{Arrivals, Barrier, End, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pace, Stop};
use measure::slice::Slice;

use super::*;
use crate::options::{declarations, parse};

/// The options of a command line.
pub(super) fn values(line: &str) -> Values {
    let words: Vec<_> = line.split_whitespace().map(str::to_owned).collect();
    let mut line = parse(&words).unwrap();
    let declared = declarations(line.dialect, &words[0]);
    line.finish(Some(&declared)).unwrap();
    line.values
}

fn native(line: &str, threads: u32) -> Native {
    let test = line.split(' ').next().unwrap();
    Native::new(test, &values(line), threads, 1).unwrap()
}

/// Each user with a worker of its own, without a limit of time.
pub(super) fn spec(threads: u32, events: Option<u64>) -> LoadSpec {
    LoadSpec {
        events,
        batch_scheduling: false,
        grace: Duration::MAX,
        ..LoadSpec::endless(threads, true)
    }
}

/// For some milliseconds.
fn short(threads: u32) -> LoadSpec {
    LoadSpec {
        time: Some(Duration::from_millis(30)),
        ..spec(threads, None)
    }
}

/// Runs a test. Returns how it ended, and what it recorded over all its seconds.
pub(super) fn run(native: &Native, spec: &LoadSpec) -> (Result<LoadOutcome, LoadError>, Slice) {
    let mut total = Slice::new(native.catalog().labels.count());
    let (connector, barrier, stop) = (Arc::new(native.clone()), Barrier::new(1), Stop::default());
    let ended = load::run(
        spec,
        &connector,
        native,
        &barrier,
        &stop,
        None,
        &mut |event| {
            if let LoadEvent::Second(second) = event {
                total.merge(&second.slice);
            }
        },
    );
    (ended, total)
}

/// The number of events of a test that completes.
fn events(native: &Native, spec: &LoadSpec) -> u64 {
    let (ended, total) = run(native, spec);
    assert_eq!(ended.unwrap().end, End::Completed);
    total.response.count()
}

#[test]
fn events_are_limited_and_all_of_them_are_counted() {
    let cpu = native("cpu --cpu-max-prime=10 run", 3);
    assert_eq!(events(&cpu, &spec(3, Some(1000))), 1000);
}

#[test]
fn time_ends_events_that_never_wait() {
    for line in [
        "cpu --cpu-max-prime=100 run",
        "threads --thread-yields=5 --thread-locks=1 run",
        "memory --memory-oper=none run",
    ] {
        assert!(events(&native(line, 2), &short(2)) > 0, "{line}");
    }
}

#[test]
fn two_tests_end_by_themselves() {
    let memory = native("memory --memory-total-size=100K run", 2);
    assert_eq!(memory.events_per_thread, Some(50));
    assert_eq!(events(&memory, &spec(2, None)), 100);
    let mutex = native(
        "mutex --mutex-num=16 --mutex-locks=100 --mutex-loops=100 run",
        2,
    );
    assert_eq!(mutex.events_per_thread, Some(1));
    assert_eq!(events(&mutex, &spec(2, None)), 2);
    assert_eq!(native("cpu run", 2).events_per_thread, None);
}

#[test]
fn a_rate_is_kept() {
    let load = LoadSpec {
        pace: Pace::Open {
            per_s: 500.0,
            arrivals: Arrivals::Constant,
        },
        ..spec(2, Some(100))
    };
    let began = Instant::now();
    let native = native("cpu --cpu-max-prime=10 run", 2);
    assert_eq!(events(&native, &load), 100);
    assert!(began.elapsed() >= Duration::from_millis(190));
}

#[test]
fn an_event_that_is_stuck_is_abandoned() {
    let load = LoadSpec {
        grace: Duration::from_millis(20),
        ..short(2)
    };
    // At least 100 ms, even if an iteration takes no more than a cycle of a fast CPU.
    let stuck = native("mutex --mutex-locks=100000 --mutex-loops=5000 run", 2);
    let (ended, total) = run(&stuck, &load);
    assert_eq!(ended.unwrap().unfinished.cancelled, 2);
    assert_eq!(total.response.count(), 0);
}
