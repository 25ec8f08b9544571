//! A load whose own thread dies says so, and leaves nobody behind.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::common::{self, Asked, LONG, Scripted, after, drive, now};
use load::{LoadError, LoadEvent, LoadSpec};
use measure::slice::Phase;
use workload::session::Reply;

/// A server that has an error of ours at one of its statements, and how many it has got.
fn faulty(last: u32) -> (Arc<Scripted>, Arc<AtomicU32>) {
    let statements = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&statements);
    let server = Scripted::new(move |asked| {
        if asked != Asked::Statement {
            return now(Ok(Reply::default()));
        }
        let number = count.fetch_add(1, Ordering::Relaxed) + 1;
        assert!(number != last, "statement {number} is one too many");
        // A reply takes a while, so that no user keeps the thread to itself.
        after(Duration::from_millis(1), Ok(Reply::default()))
    });
    (server, statements)
}

fn spec(workers: u32, warmup: Duration) -> LoadSpec {
    LoadSpec {
        workers,
        warmup,
        ..common::spec()
    }
}

#[test]
fn a_worker_that_dies_ends_the_load_with_its_own_words() {
    for workers in [1, 2, 4] {
        let mut phases = Vec::new();
        let ended = drive(
            &spec(workers, Duration::ZERO),
            &faulty(100).0,
            &mut |event| {
                if let LoadEvent::Second(second) = event {
                    phases.push(second.phase);
                }
            },
        );
        let words = match ended {
            Err(LoadError::Panicked(words)) => words,
            other => panic!("{other:?}"),
        };
        assert_eq!(words, "statement 100 is one too many");
        // What was measured until then was told.
        assert!(phases.contains(&Phase::Measure), "{phases:?}");
    }
}

#[test]
fn a_load_that_fails_in_its_warm_up_measures_nothing() {
    let mut phases = Vec::new();
    let ended = drive(&spec(2, LONG), &faulty(100).0, &mut |event| {
        if let LoadEvent::Second(second) = event {
            phases.push(second.phase);
        }
    });
    assert!(matches!(ended, Err(LoadError::Panicked(_))), "{ended:?}");
    assert!(phases.contains(&Phase::Warmup), "{phases:?}");
    assert!(!phases.contains(&Phase::Measure), "{phases:?}");
}

#[test]
fn workers_do_not_outlive_a_load_that_panics() {
    let (server, statements) = faulty(u32::MAX);
    let deaf = std::panic::catch_unwind(AssertUnwindSafe(|| {
        drive(&spec(2, Duration::ZERO), &server, &mut |event| {
            assert!(!matches!(event, LoadEvent::Second(_)), "nobody listens");
        })
    }));
    assert!(deaf.is_err());
    let sent = statements.load(Ordering::Relaxed);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(statements.load(Ordering::Relaxed), sent);
}
