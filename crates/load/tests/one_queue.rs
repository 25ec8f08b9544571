//! An open loop is one queue, however many workers serve it.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Asked, Scripted, after, measured, spec, total};
use load::{Arrivals, LoadSpec, Pace};
use workload::session::Reply;

const USERS: u32 = 64;
const LOAD: f64 = 0.9;

/// Response time of a server of known service time under 90 % load.
fn p99_ms(workers: u32, service: Duration, time: Duration) -> f64 {
    let per_s = LOAD * f64::from(USERS) / service.as_secs_f64();
    let spec = LoadSpec {
        users: USERS,
        workers,
        time: Some(time),
        pace: Pace::Open {
            per_s,
            arrivals: Arrivals::Poisson,
        },
        seed: 3,
        ..spec()
    };
    let (_, seconds) = measured(&spec, &Scripted::taking(service));
    let total = total(&seconds);
    total.response.quantile_ns(0.99).unwrap() as f64 / 1e6
}

/// Of 200 arrivals in two seconds, those that took longer than half of the second for
/// which the first statement keeps its worker's thread to itself.
fn delayed_by_a_worker_that_stalls() -> u64 {
    let stall = Duration::from_secs(1);
    let statements = AtomicU32::new(0);
    let server = Scripted::new(move |asked| {
        if asked == Asked::Statement && statements.fetch_add(1, Ordering::Relaxed) == 0 {
            std::thread::sleep(stall);
        }
        after(Duration::from_millis(1), Ok(Reply::default()))
    });
    let spec = LoadSpec {
        users: 2,
        workers: 2,
        time: Some(2 * stall),
        pace: Pace::Open {
            per_s: 100.0,
            arrivals: Arrivals::Constant,
        },
        ..spec()
    };
    let (_, seconds) = measured(&spec, &server);
    let total = total(&seconds);
    let recorded = total.response.histogram().iter_recorded();
    let long = recorded.filter(|bucket| bucket.value_iterated_to() > stall.as_nanos() as u64 / 2);
    long.map(|bucket| bucket.count_since_last_iteration()).sum()
}

/// With a queue for each worker, 25 of them wait for the worker that stalls.
#[test]
fn a_free_user_of_one_worker_serves_what_is_due_while_another_stalls() {
    // A stall of the machine can delay others, too.
    let delayed: Vec<u64> = (0..4).map(|_| delayed_by_a_worker_that_stalls()).collect();
    assert_eq!(delayed.iter().min(), Some(&1), "{delayed:?}");
}

/// For a quiet machine with two CPUs or more, in a release build:
/// `cargo test --release -p load --test one_queue -- --ignored --nocapture`.
#[test]
#[ignore = "a benchmark: needs a quiet machine and a release build"]
fn p99_of_1_and_8_workers_within_5_percent() {
    let p99_ms = |workers| p99_ms(workers, Duration::from_millis(1), Duration::from_secs(10));
    let mut ratios: Vec<f64> = (0..5)
        .map(|_| {
            let [one, eight] = [1, 8].map(p99_ms);
            println!("1 worker {one:.3} ms, 8 workers {eight:.3} ms");
            eight / one
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    println!("8 workers to 1, median of five: {:.3}", ratios[2]);
    assert!((0.95..1.05).contains(&ratios[2]), "{ratios:?}");
}
