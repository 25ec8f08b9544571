//! An open loop is one queue, however many workers serve it.
#![allow(
    clippy::unwrap_used,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use common::{Asked, Scripted, after, measured, spec, total};
use load::{Arrivals, LoadSpec, Pace};
use workload::session::Reply;

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
    let mut delayed = (0..8).map(|_| delayed_by_a_worker_that_stalls());
    assert!(delayed.any(|count| count == 1));
}
