//! How a load ends, and what its seconds are.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use common::{Asked, Scripted, after, drive, drive_with, error, measured, never, now, spec, total};
use load::{End, Event, LoadError, LoadSpec, Stop};
use measure::slice::{Phase, Second};
use workload::name::WorkloadName;
use workload::session::{FailureKind, Reply};

const SERVICE: Duration = Duration::from_millis(2);
/// What a busy machine may add.
const SLACK: Duration = Duration::from_secs(20);

fn length(second: &Second) -> Duration {
    Duration::from_nanos(second.end_ns - second.start_ns)
}

/// A server that answers until it has got so many statements, then as `later` says.
fn until(
    statements: u32,
    later: impl Fn(Asked) -> common::Answer + Send + Sync + 'static,
) -> (Arc<Scripted>, Arc<AtomicU32>) {
    let asked_for = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&asked_for);
    let server = Scripted::new(move |asked| {
        let before = match asked {
            Asked::Statement => count.fetch_add(1, Ordering::Relaxed),
            Asked::Connection | Asked::Rollback => count.load(Ordering::Relaxed),
        };
        match asked {
            _ if before >= statements => later(asked),
            Asked::Statement => after(SERVICE, Ok(Reply::default())),
            Asked::Connection | Asked::Rollback => now(Ok(Reply::default())),
        }
    });
    (server, asked_for)
}

fn lost(end: &End) -> (Duration, &str) {
    match end {
        End::ServerLost { at_ns, error } => (Duration::from_nanos(*at_ns), &error.message),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_last_transaction_is_the_end_of_the_measurement() {
    let spec = LoadSpec {
        users: 1,
        events: Some(3),
        time: None,
        ..spec()
    };
    // Polling every 20 ms cannot be this quick; a busy machine may be slow.
    let quick = (0..20).any(|_| {
        let (outcome, seconds) = measured(&spec, &Scripted::taking(SERVICE));
        assert_eq!(outcome.end, End::Completed);
        assert_eq!(total(&seconds).response.count(), 3);
        seconds.iter().map(length).sum::<Duration>() < 3 * SERVICE + Duration::from_millis(8)
    });
    assert!(quick);
}

#[test]
fn a_stall_of_the_generator_makes_one_long_second_and_none_that_is_empty() {
    let spec = LoadSpec {
        time: Some(Duration::from_millis(6000)),
        ..spec()
    };
    let mut seconds: Vec<Second> = Vec::new();
    drive(&spec, &Scripted::taking(SERVICE), &mut |event| {
        if let Event::Second(second) = event
            && second.phase == Phase::Measure
        {
            if seconds.is_empty() {
                std::thread::sleep(Duration::from_millis(2700));
            }
            seconds.push(second.clone());
        }
    })
    .unwrap();
    let lengths: Vec<Duration> = seconds.iter().map(length).collect();
    let whole = &lengths[..lengths.len() - 1];
    let least = Duration::from_millis(850);
    assert!(whole.iter().all(|length| *length > least), "{lengths:?}");
    assert!(lengths[1] > Duration::from_millis(2700), "{lengths:?}");
    let measured: Duration = lengths.iter().sum();
    assert!(measured >= Duration::from_secs(6), "{lengths:?}");
    assert!(
        seconds
            .iter()
            .all(|second| second.slice.response.count() > 0)
    );
}

#[test]
fn a_server_that_is_away_at_the_end_is_lost() {
    for kind in [FailureKind::Lost, FailureKind::Away] {
        let (server, _) = until(100, move |_| now(Err(error(kind, "nobody listens"))));
        let spec = LoadSpec {
            time: Some(Duration::from_secs(2)),
            ..spec()
        };
        let (outcome, seconds) = measured(&spec, &server);
        let (at, why) = lost(&outcome.end);
        assert!(at < Duration::from_secs(2), "{at:?}");
        assert_eq!(why, "nobody listens");
        assert_eq!(total(&seconds).response.count(), 100);
    }
}

#[test]
fn a_server_that_came_back_is_not_lost() {
    let (broken, _) = until(u32::MAX, |_| never());
    let (begun, server) = (Instant::now(), broken);
    let gone = move || (300..900).contains(&begun.elapsed().as_millis());
    let server = Scripted::new(move |asked| match gone() {
        true => now(Err(error(FailureKind::Away, "nobody listens"))),
        false => server.answer(asked),
    });
    let spec = LoadSpec {
        time: Some(Duration::from_secs(3)),
        ..spec()
    };
    let (outcome, seconds) = measured(&spec, &server);
    assert_eq!(outcome.end, End::Completed);
    let total = total(&seconds);
    assert_eq!(total.reconnects, 4, "{:?}", total.errors);
    // Each of the four users tries again at least every 200 ms.
    assert!(
        (4 * 3..4 * 20).contains(&total.errors[&0].count),
        "{:?}",
        total.errors
    );
}

#[test]
fn users_that_lose_their_first_statement_again_and_again_wait_longer_and_longer() {
    let connections = Arc::new(AtomicU32::new(0));
    let count = Arc::clone(&connections);
    let server = Scripted::new(move |asked| match asked {
        Asked::Connection => {
            count.fetch_add(1, Ordering::Relaxed);
            now(Ok(Reply::default()))
        }
        Asked::Statement => now(Err(error(FailureKind::Lost, "closed"))),
        Asked::Rollback => now(Ok(Reply::default())),
    });
    let spec = LoadSpec {
        time: Some(Duration::from_secs(3)),
        ..spec()
    };
    let (outcome, _) = measured(&spec, &server);
    assert_eq!(lost(&outcome.end).1, "closed");
    // The first one, one at once, and those behind 50 ms, 100 ms, 200 ms and so on.
    let connections = connections.load(Ordering::Relaxed);
    assert!(connections <= 4 * 9, "{connections}");
}

#[test]
fn one_user_that_cannot_return_is_no_lost_server() {
    let refused = Arc::new(AtomicU32::new(0));
    let server = Scripted::new(move |asked| match asked {
        // Of the second user's connection nothing comes any more.
        Asked::Statement if refused.fetch_add(1, Ordering::Relaxed) == 10 => {
            now(Err(error(FailureKind::Lost, "killed")))
        }
        Asked::Connection if refused.load(Ordering::Relaxed) > 10 => {
            now(Err(error(FailureKind::Lost, "too many connections")))
        }
        Asked::Statement => after(SERVICE, Ok(Reply::default())),
        Asked::Connection | Asked::Rollback => now(Ok(Reply::default())),
    });
    let spec = LoadSpec {
        time: Some(Duration::from_secs(2)),
        ..spec()
    };
    let (outcome, _) = measured(&spec, &server);
    assert_eq!(outcome.end, End::Completed);
}

#[test]
fn a_load_without_a_limit_of_time_ends_when_the_server_hangs() {
    let (server, _) = until(50, |_| never());
    let spec = LoadSpec {
        time: None,
        events: Some(1_000_000),
        stall_limit: Duration::from_secs(2),
        grace: Duration::from_millis(50),
        ..spec()
    };
    let begun = Instant::now();
    let (outcome, seconds) = measured(&spec, &server);
    assert!(begun.elapsed() < SLACK, "{:?}", begun.elapsed());
    assert_eq!(lost(&outcome.end).1, "no reply for 2 s");
    assert_eq!(total(&seconds).response.count(), 50);
    assert_eq!(outcome.unfinished.cancelled, 4);
}

#[test]
fn a_load_without_a_limit_of_time_ends_when_the_server_stays_away() {
    let (server, _) = until(50, |_| now(Err(error(FailureKind::Away, "nobody listens"))));
    let spec = LoadSpec {
        time: None,
        events: Some(1_000_000),
        stall_limit: Duration::from_secs(2),
        ..spec()
    };
    let (outcome, _) = measured(&spec, &server);
    assert_eq!(lost(&outcome.end).1, "nobody listens");
}

#[test]
fn a_slow_server_is_waited_for() {
    let slow = Duration::from_millis(1500);
    let spec = LoadSpec {
        time: None,
        events: Some(8),
        stall_limit: Duration::from_secs(3),
        ..spec()
    };
    let (outcome, _) = measured(&spec, &Scripted::taking(slow));
    assert_eq!(outcome.end, End::Completed);
}

#[test]
fn connections_that_are_never_opened_end_the_load() {
    let spec = LoadSpec {
        stall_limit: Duration::from_millis(300),
        ..spec()
    };
    let begun = Instant::now();
    let server = Scripted::new(|_| never());
    let ended = drive(&spec, &server, &mut |_| {});
    let Err(LoadError::Connect(error)) = ended else {
        panic!("{ended:?}")
    };
    assert_eq!(error.message, "no reply for 0.3 s");
    assert!(begun.elapsed() < SLACK);
}

/// Rows of a bulk insert, of which 26,000 and more are one statement.
fn bulk(server: &Arc<Scripted>, events: u64) -> (End, u64) {
    let spec = LoadSpec {
        users: 1,
        time: None,
        events: Some(events),
        ..spec()
    };
    let mut rows = 0;
    let ended = drive_with(
        WorkloadName::BulkInsert,
        &spec,
        server,
        &Stop::default(),
        &mut |event| {
            if let Event::Second(second) = event {
                rows += second.slice.response.count();
            }
        },
    );
    (ended.unwrap().end, rows)
}

#[test]
fn rows_of_a_bulk_insert_count_once_the_server_has_them() {
    let (server, statements) = until(u32::MAX, |_| never());
    assert_eq!(bulk(&server, 100_000), (End::Completed, 100_000));
    let all = statements.load(Ordering::Relaxed);
    assert!((2..10).contains(&all), "{all}");
    // The second statement is lost, and with it its rows; the others are there.
    let (failed, count) = (AtomicU32::new(0), AtomicU32::new(0));
    let server = Scripted::new(move |asked| {
        let number = match asked {
            Asked::Statement => count.fetch_add(1, Ordering::Relaxed),
            Asked::Connection | Asked::Rollback => 0,
        };
        match number == 1 && failed.fetch_add(1, Ordering::Relaxed) == 0 {
            true => now(Err(error(FailureKind::Lost, "lost"))),
            false => now(Ok(Reply::default())),
        }
    });
    let (end, rows) = bulk(&server, 100_000);
    assert_eq!(end, End::Completed);
    assert!((60_000..80_000).contains(&rows), "{rows}");
}

#[test]
fn rows_whose_last_statement_is_lost_do_not_count() {
    let server = Scripted::new(|asked| match asked {
        Asked::Statement => now(Err(error(FailureKind::Lost, "lost"))),
        Asked::Connection | Asked::Rollback => now(Ok(Reply::default())),
    });
    assert_eq!(bulk(&server, 100), (End::Completed, 0));
}
