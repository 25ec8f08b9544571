//! An open loop is one queue, however many workers serve it.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::time::Duration;

use common::{Scripted, measured, spec, total};
use load::{Arrivals, LoadSpec, Pace};

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

/// The slow server leaves the test's own delays small beside the waits, and a seed gives
/// the same arrivals to any number of workers. As eight queues of eight users each, p99
/// was 2.7 times as long.
#[test]
fn p99_does_not_depend_on_the_number_of_workers() {
    let mut ratios = Vec::new();
    // A stall of the machine may hit one of the two.
    while ratios.len() < 4 {
        let [one, eight] = [1, 8]
            .map(|workers| p99_ms(workers, Duration::from_millis(40), Duration::from_secs(3)));
        ratios.push(eight / one);
        if (0.85..1.15).contains(&(eight / one)) {
            return;
        }
    }
    panic!("8 workers to 1: {ratios:?}");
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
