//! How loads end: on transaction boundaries, with a hanging server, or canceled.

use std::time::Duration;

use workload::session::FailureKind;

use super::script::{Answer, Asked, Entry, Scripted, done, fails};
use super::*;

/// How often the main thread checks whether it is to stop.
const POLL: u64 = 20 * MS;
/// The statements of a read-write transaction.
const STATEMENTS: usize = 20;

/// A server that stops replying at `at_ns`.
fn hanging_from(at_ns: u64) -> Scripted {
    Scripted::answering(&simulation(), move |request| match request.at_ns >= at_ns {
        true => Answer::Never,
        false => done(SERVICE),
    })
}

fn limited_by_events() -> LoadSpec {
    LoadSpec {
        time: None,
        events: Some(1_000_000),
        ..spec()
    }
}

/// Drives a load and stops it with `stop` at the first second that ends at `at_ns` or later.
fn stop_at(at_ns: u64, stop: fn(&Stop), spec: &LoadSpec, server: &Scripted) -> Driven {
    let simulation = server.simulation().clone();
    drive_until(spec, server, &Stop::default(), |event, handle| {
        if matches!(event, LoadEvent::Second(_)) && simulation.now_ns() >= at_ns {
            stop(handle);
        }
    })
}

fn steady() -> Scripted {
    Scripted::answering(&simulation(), |_| done(SERVICE))
}

#[track_caller]
fn assert_unfinished(driven: &Driven, count: u64, cancelled: u64) {
    let unfinished = &driven.outcome().unfinished;
    let found = (unfinished.count, unfinished.cancelled);
    assert_eq!(found, (count, cancelled));
}

fn of_connection(log: &[Entry], connection: u32) -> Vec<Asked> {
    let requests = log.iter().map(|entry| entry.request);
    let own = requests.filter(|request| request.connection == connection);
    own.map(|request| request.asked).collect()
}

#[test]
fn a_load_stops_on_transaction_boundaries() {
    let server = Scripted::answering(&simulation(), |request| {
        done(SERVICE + u64::from(request.number % 7) * MS / 10)
    });
    let mut spec = lasting_s(3);
    (spec.users, spec.workers) = (5, 2);
    let name = WorkloadName::OltpReadWrite;
    let driven = drive_workload(name, &spec, &server, &Stop::default(), |_, _| {});
    let log = server.log();
    for connection in 0..5 {
        let requests = of_connection(&log, connection);
        let [Asked::Connection, statements @ .., Asked::Close] = &requests[..] else {
            panic!("{requests:?}");
        };
        assert!(statements.iter().all(|asked| *asked == Asked::Statement));
        assert_eq!(statements.len() % STATEMENTS, 0, "{}", statements.len());
    }
    assert_eq!(driven.outcome().end, End::Completed);
    assert_unfinished(&driven, 5, 0);
    let oldest_ms = driven.outcome().unfinished.oldest_ms.unwrap();
    assert!(oldest_ms > 0.0 && oldest_ms < 60.0, "{oldest_ms}");
    // They end in the drain, and count neither as measured nor as unfinished.
    assert_eq!(driven.total(Phase::Drain).response.count(), 5);
    let all = driven.measured().response.count() + 5;
    let expected = times(&server, Asked::Statement).len();
    assert_eq!(all as usize * STATEMENTS, expected);
}

#[test]
fn the_time_is_kept_while_the_server_hangs() {
    let server = hanging_from(SECOND);
    let driven = drive(&lasting_s(2), &server);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_unfinished(&driven, 4, 4);
    // The end of the load, plus the grace period of running transactions.
    let limit = START + 2 * SECOND + 5 * SECOND;
    assert!((limit..limit + POLL).contains(&driven.ended_ns));
    // Connections of dropped tasks are closed without a quit message.
    assert!(times(&server, Asked::Close).is_empty());
}

#[test]
fn a_load_without_a_time_limit_ends_when_the_server_hangs() {
    let server = hanging_from(SECOND);
    let mut spec = limited_by_events();
    spec.grace = Duration::from_millis(50);
    let driven = drive(&spec, &server);
    let (at_ns, error) = driven.server_lost();
    assert!((SECOND..SECOND + 2 * SERVICE).contains(&at_ns), "{at_ns}");
    assert_eq!(error.message, "no reply for 60 s");
    assert_eq!(driven.outcome().unfinished.cancelled, 4);
    let limit = SECOND + 60 * SECOND;
    assert!((limit..limit + 2 * SECOND).contains(&driven.ended_ns));
}

#[test]
fn a_slow_server_is_waited_for() {
    let server = Scripted::answering(&simulation(), |_| done(59 * SECOND));
    let mut spec = limited_by_events();
    spec.events = Some(40);
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_eq!(driven.measured().response.count(), 40);
}

/// Errors that the load ignores are replies, so the server does not count as hanging.
#[test]
fn a_server_that_only_refuses_is_not_lost() {
    let server = Scripted::answering(&simulation(), |request| match request.number {
        0..1000 => Answer::After(SECOND, Err(script::error(FailureKind::Refused, 1290))),
        _ => done(SERVICE),
    });
    let mut spec = limited_by_events();
    (spec.ignored_errors, spec.events) = (vec!["1290".to_owned()], Some(50));
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
}

#[test]
fn an_interrupt_or_enough_seconds_end_the_load_within_a_poll_interval() {
    let interrupt: fn(&Stop) = Stop::interrupt;
    for (stop, end) in [
        (interrupt, End::Interrupted),
        (Stop::enough, End::Completed),
    ] {
        let driven = stop_at(3 * SECOND, stop, &spec(), &steady());
        assert_eq!(driven.outcome().end, end);
        let limit = START + 3 * SECOND + POLL + SERVICE;
        assert!(driven.ended_ns <= limit, "{}", driven.ended_ns);
    }
}

#[test]
fn an_interrupt_in_the_warm_up_measures_nothing() {
    let server = steady();
    let mut spec = spec();
    spec.warmup = Duration::from_secs(100);
    let driven = stop_at(2 * SECOND, Stop::interrupt, &spec, &server);
    assert_eq!(driven.outcome().end, End::Interrupted);
    assert!(driven.phase(Phase::Measure).is_empty());
    assert!(driven.total(Phase::Warmup).response.count() > 0);
}

#[test]
fn an_interrupt_cancels_what_a_hung_server_keeps() {
    let server = hanging_from(SECOND);
    let driven = stop_at(2 * SECOND, Stop::interrupt, &spec(), &server);
    assert_eq!(driven.outcome().end, End::Interrupted);
    assert_eq!(driven.outcome().unfinished.cancelled, 4);
    let limit = START + 2 * SECOND + 5 * SECOND;
    assert!(driven.ended_ns <= limit + 2 * POLL, "{}", driven.ended_ns);
}

/// A call into an in-process engine cannot be dropped.
#[test]
fn a_worker_that_hangs_in_a_call_is_left_behind() {
    let server = Scripted::blocking(100, 1000 * SECOND, SERVICE);
    let mut spec = lasting_s(2);
    spec.workers = 2;
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    // The two users of the blocked worker are canceled.
    assert_unfinished(&driven, 4, 2);
    let limit = START + 2 * SECOND + 5 * SECOND + SECOND;
    assert!((limit..limit + POLL).contains(&driven.ended_ns));
    // The other worker's transactions were counted in every second.
    let measured = driven.phase(Phase::Measure);
    let counts: Vec<_> = measured.iter().map(|s| s.slice.response.count()).collect();
    assert!(counts.iter().all(|count| *count > 900), "{counts:?}");
}

#[test]
fn users_that_wait_end_with_the_load() {
    let long = Duration::from_secs(1000);
    let mut thinking = lasting_s(2);
    thinking.think = constant(long);
    let idle = LoadSpec {
        pace: Pace::Open {
            per_s: 0.001,
            arrivals: crate::Arrivals::Constant,
        },
        ..lasting_s(2)
    };
    for spec in [thinking, idle] {
        let server = steady();
        let driven = drive(&spec, &server);
        assert_eq!(driven.ended_ns, START + 2 * SECOND);
        assert_eq!(driven.outcome().unfinished.count, 0);
        assert_eq!(times(&server, Asked::Close).len(), 4);
    }
}

#[test]
fn a_user_that_waits_to_reconnect_ends_with_the_load() {
    let server = Scripted::new(&simulation(), |request| match request.asked {
        Asked::Connection if request.at_ns > SECOND => fails(FailureKind::Lost, 0),
        Asked::Statement if request.at_ns > SECOND => fails(FailureKind::Lost, 0),
        Asked::Statement => done(SERVICE),
        Asked::Connection | Asked::Rollback | Asked::Close => done(0),
    });
    let driven = drive(&lasting_s(30), &server);
    assert_eq!(driven.ended_ns, START + 30 * SECOND);
    // Its transaction is unfinished, but nothing had to be canceled.
    assert_unfinished(&driven, 4, 0);
}

/// Rows of a bulk insert, more than 26,000 of which form one statement.
fn bulk(server: &Scripted, events: u64) -> (End, u64) {
    let mut spec = limited_by_events();
    (spec.users, spec.events) = (1, Some(events));
    let name = WorkloadName::BulkInsert;
    let driven = drive_workload(name, &spec, server, &Stop::default(), |_, _| {});
    let counts = driven.seconds.iter().map(|s| s.slice.response.count());
    (driven.outcome().end.clone(), counts.sum())
}

#[test]
fn rows_of_a_bulk_insert_count_once_the_server_has_them() {
    let server = steady();
    assert_eq!(bulk(&server, 100_000), (End::Completed, 100_000));
    let statements = times(&server, Asked::Statement).len();
    assert!((2..10).contains(&statements), "{statements}");
    // The second statement is lost with its rows; the others arrived.
    let server = Scripted::answering(&simulation(), |request| match request.number {
        1 => fails(FailureKind::Lost, 0),
        _ => done(SERVICE),
    });
    let (end, rows) = bulk(&server, 100_000);
    assert_eq!(end, End::Completed);
    assert!((60_000..80_000).contains(&rows), "{rows}");
}

#[test]
fn rows_whose_last_statement_is_lost_do_not_count() {
    let server = Scripted::answering(&simulation(), |_| fails(FailureKind::Lost, 0));
    assert_eq!(bulk(&server, 100), (End::Completed, 0));
    assert!(!times(&server, Asked::Statement).is_empty());
}
