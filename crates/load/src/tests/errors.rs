//! Errors that end a load, and errors that do not.

use workload::session::FailureKind;

use super::script::{Answer, Asked, Scripted, done, error, fails};
use super::*;

const DEADLOCK: u32 = 1213;
const DUPLICATE: u32 = 1062;

/// Every fifth statement fails after its service time.
fn failing(kind: FailureKind, code: u32) -> Scripted {
    Scripted::answering(&simulation(), move |request| {
        match request.number % 5 == 4 {
            true => Answer::After(SERVICE, Err(error(kind, code))),
            false => done(SERVICE),
        }
    })
}

#[test]
fn a_deadlock_restarts_the_transaction_within_its_response_time() {
    let server = failing(FailureKind::Restart, DEADLOCK);
    let driven = drive(&lasting_s(2), &server);
    assert_eq!(driven.outcome().end, End::Completed);
    let total = driven.measured();
    let statements = u64::from(u32::try_from(times(&server, Asked::Statement).len()).unwrap());
    // Statements that are running at the end are drained.
    assert!(statements - total.response.count() - total.restarts() <= 4);
    assert_eq!(total.restarts(), total.errors[&DEADLOCK.to_string()].count);
    assert!(total.restarts() >= 4 * 1000 / 5 - 4);
    assert_eq!(total.reconnects, 0);
    // A failed statement has no time, but its transaction has one.
    assert_eq!(total.statement_count(), total.response.count());
    let longest = total.response.max_ns().unwrap();
    assert!(longest >= 2 * SERVICE, "{longest}");
    assert!(total.statements[0].max_ns().unwrap() < 2 * SERVICE);
    let rollbacks = times(&server, Asked::Rollback).len() as u64;
    assert!(rollbacks >= total.restarts());
}

#[test]
fn an_ignored_error_is_counted_and_the_load_goes_on() {
    let server = failing(FailureKind::Refused, DUPLICATE);
    let mut spec = lasting_s(2);
    spec.ignored_errors = vec!["1".to_owned(), DUPLICATE.to_string()];
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    let total = driven.measured();
    assert_eq!(total.errors[&DUPLICATE.to_string()].action, "ignored");
    assert_eq!(total.restarts(), 0);
    assert!(total.response.count() > 3000);
}

#[test]
fn a_connection_that_is_out_of_step_is_replaced_even_if_errors_are_ignored() {
    let server = Scripted::answering(&simulation(), |request| match request.number {
        50 => fails(FailureKind::Refused, 0),
        _ => done(SERVICE),
    });
    let mut spec = lasting_s(2);
    spec.ignored_errors = vec![crate::ANY_ERROR.to_owned()];
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    let total = driven.measured();
    assert_eq!(total.errors["network"].action, "reconnected");
    assert_eq!(total.reconnects, 1);
}

#[test]
fn any_other_refusal_ends_the_load_at_once() {
    let at = 50;
    let server = Scripted::answering(&simulation(), move |request| match request.number == at {
        true => fails(FailureKind::Refused, DUPLICATE),
        false => done(SERVICE),
    });
    let mut spec = lasting_s(2);
    spec.ignored_errors = vec!["1".to_owned()];
    let driven = drive(&spec, &server);
    let expected = End::Failed(error(FailureKind::Refused, DUPLICATE));
    assert_eq!(driven.outcome().end, expected);
    let failed_ns = server.requests(Asked::Statement)[at as usize].request.at_ns;
    // The load ends at the failure; users that are running finish meanwhile.
    assert_eq!(driven.ended_ns, failed_ns + SERVICE);
    let errors = driven.measured().errors;
    assert_eq!(errors[&DUPLICATE.to_string()].action, "stopped the load");
    assert_eq!(driven.outcome().unfinished.cancelled, 0);
}

#[test]
fn the_first_connection_that_fails_ends_the_load_before_it_begins() {
    let server = Scripted::new(&simulation(), |request| match request.number {
        2 => fails(FailureKind::Refused, 1045),
        _ => done(3 * MS),
    });
    let mut spec = lasting_s(2);
    (spec.users, spec.connect_limit) = (10, 1);
    let driven = drive(&spec, &server);
    let Err(LoadError::Connect(failed)) = &driven.ended else {
        panic!("{:?}", driven.ended);
    };
    assert_eq!(failed.number, Some(1045));
    assert!(times(&server, Asked::Statement).is_empty());
    assert!(driven.seconds.is_empty());
    assert!(server.simulation().is_start_cancelled());
    // At most one further connection was started before the failure was noticed.
    assert!(times(&server, Asked::Connection).len() <= 4);
}

#[test]
fn connections_that_never_open_end_the_load_at_the_stall_limit() {
    let server = Scripted::new(&simulation(), |request| match request.number {
        0 => done(20 * SECOND),
        _ => Answer::Never,
    });
    let driven = drive(&lasting_s(2), &server);
    let Err(LoadError::Connect(failed)) = &driven.ended else {
        panic!("{:?}", driven.ended);
    };
    assert_eq!(failed.message, "no reply for 60 s");
    // Each connection that opens restarts the limit.
    let limit = START + (20 + 60) * SECOND;
    assert!((limit..limit + 40 * MS).contains(&driven.ended_ns));
}

#[test]
fn an_interrupt_while_connecting_is_no_failure() {
    let server = Scripted::new(&simulation(), |_| Answer::Never);
    let driven = drive_until(&lasting_s(2), &server, &Stop::default(), |_, stop| {
        stop.interrupt();
    });
    assert!(matches!(driven.ended, Err(LoadError::Interrupted)));
    assert!(server.simulation().is_start_cancelled());
}

#[test]
fn a_load_does_not_start_without_the_others() {
    let server = Scripted::answering(&simulation(), |_| done(SERVICE));
    server.simulation().fail_others();
    let driven = drive(&lasting_s(2), &server);
    assert!(matches!(driven.ended, Err(LoadError::OtherFailed)));
    assert!(times(&server, Asked::Statement).is_empty());
}
