//! Compares p99 of the response time of an open loop with 1 and with 8 workers;
//! called by benches/queue.sh.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark: it fails loudly and prints what it measured"
)]

#[path = "../tests/integration/common.rs"]
mod common;

use std::time::Duration;

use common::{Scripted, measured, spec, total};
use load::{Arrivals, LoadSpec, Pace};

const USERS: u32 = 64;
const LOAD: f64 = 0.9;
const SERVICE: Duration = Duration::from_millis(1);
const TIME: Duration = Duration::from_secs(10);
const PAIRS: usize = 5;

fn p99_ms(workers: u32) -> f64 {
    let spec = LoadSpec {
        users: USERS,
        workers,
        time: Some(TIME),
        pace: Pace::Open {
            per_s: LOAD * f64::from(USERS) / SERVICE.as_secs_f64(),
            arrivals: Arrivals::Poisson,
        },
        seed: 3,
        ..spec()
    };
    let (_, seconds) = measured(&spec, &Scripted::taking(SERVICE));
    let total = total(&seconds);
    total.response.quantile_ns(0.99).unwrap() as f64 / 1e6
}

fn main() {
    let mut ratios: Vec<f64> = (0..PAIRS)
        .map(|_| {
            let [one, eight] = [1, 8].map(p99_ms);
            println!("p99: 1 worker {one:.3} ms, 8 workers {eight:.3} ms");
            eight / one
        })
        .collect();
    ratios.sort_by(f64::total_cmp);
    let median = ratios[PAIRS / 2];
    println!("8 workers to 1, median of {PAIRS}: {median:.3}");
    assert!((0.95..1.05).contains(&median), "{ratios:?}");
}
