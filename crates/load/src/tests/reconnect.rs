//! Users that lose their connections: backoff, and servers that are lost.

use std::cell::Cell;
use std::collections::BTreeSet;

use workload::session::FailureKind;

use super::script::{Answer, Asked, Scripted, away, done, fails};
use super::*;

fn one_user(time_s: u64) -> LoadSpec {
    LoadSpec {
        users: 1,
        ..lasting_s(time_s)
    }
}

/// The waits between a user's attempts to reconnect to a server that never returns.
fn waits(kind: FailureKind, seed: u64) -> Vec<u64> {
    let server = Scripted::new(&simulation(), away(SECOND..u64::MAX, kind));
    let mut spec = one_user(120);
    spec.seed = seed;
    let driven = drive(&spec, &server);
    assert!(matches!(driven.outcome().end, End::ServerLost { .. }));
    let attempts = times(&server, Asked::Connection);
    let first = attempts[1];
    // The first attempt to reconnect does not wait.
    assert!((SECOND..SECOND + SERVICE).contains(&first), "{first}");
    let errors = &driven.measured().errors["network"];
    assert_eq!(errors.count, attempts.len() as u64);
    assert_eq!(errors.action, "reconnected");
    gaps(&attempts[1..])
}

#[test]
fn waits_grow_with_jitter_up_to_5_s() {
    let waits = waits(FailureKind::Lost, 1);
    let caps_ms = [100, 200, 400, 800, 1600, 3200].into_iter();
    for (wait, cap_ms) in waits.iter().zip(caps_ms.chain(std::iter::repeat(5000))) {
        let cap = cap_ms * MS;
        assert!((cap / 2..=cap).contains(wait), "{wait} of {cap}: {waits:?}");
    }
    assert!(waits.len() > 20, "{waits:?}");
    let capped: BTreeSet<_> = waits[6..].iter().collect();
    assert_eq!(capped.len(), waits.len() - 6, "no jitter: {waits:?}");
    assert_ne!(waits, self::waits(FailureKind::Lost, 2));
    assert_eq!(waits, self::waits(FailureKind::Lost, 1));
}

#[test]
fn a_server_known_to_restart_is_tried_at_least_every_200_ms() {
    let waits = waits(FailureKind::Away, 1);
    assert!((50 * MS..=100 * MS).contains(&waits[0]), "{waits:?}");
    for wait in &waits[1..] {
        assert!((100 * MS..=200 * MS).contains(wait), "{waits:?}");
    }
    assert!(waits.len() > 500, "{}", waits.len());
}

#[test]
fn users_that_lose_the_server_together_do_not_return_together() {
    let script = away(SECOND..2 * SECOND, FailureKind::Lost);
    let server = Scripted::new(&simulation(), script);
    let mut spec = one_user(5);
    (spec.users, spec.workers, spec.connect_limit) = (64, 3, 64);
    let driven = drive(&spec, &server);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_eq!(driven.measured().reconnects, 64);
    let connections = server.requests(Asked::Connection);
    let accepted = connections[64..]
        .iter()
        .filter(|entry| entry.replied.unwrap().1);
    let returned: BTreeSet<_> = accepted.map(|entry| entry.request.at_ns).collect();
    assert!(returned.len() > 60, "{}", returned.len());
}

#[test]
fn a_server_that_restarts_is_used_again_within_200_ms() {
    let back = 900 * MS;
    let server = Scripted::new(&simulation(), away(300 * MS..back, FailureKind::Away));
    let driven = drive(&lasting_s(3), &server);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_eq!(driven.measured().reconnects, 4);
    let statements = server.requests(Asked::Statement);
    for connection in 0..4 {
        let mut after = statements
            .iter()
            .filter(|entry| entry.request.at_ns >= back && entry.request.connection >= 4);
        let first = after.nth(connection).unwrap().request.at_ns;
        assert!(first <= back + 200 * MS, "{first}");
    }
}

/// A transaction's response time includes its user's wait for the server.
#[test]
fn the_response_time_includes_the_outage() {
    let server = Scripted::new(&simulation(), away(SECOND..10 * SECOND, FailureKind::Away));
    let driven = drive(&one_user(15), &server);
    let longest = driven.measured().response.max_ns().unwrap();
    assert!((8900 * MS..9300 * MS).contains(&longest), "{longest}");
}

#[test]
fn after_a_success_the_next_outage_starts_with_no_wait() {
    // Every tenth statement is lost, so each loss comes after successes.
    let server = Scripted::answering(&simulation(), |request| match request.number % 10 == 9 {
        true => fails(FailureKind::Lost, 2013),
        false => done(SERVICE),
    });
    let driven = drive(&one_user(1), &server);
    let lost = server.requests(Asked::Statement).into_iter();
    let lost = lost.filter(|entry| entry.replied.is_some_and(|(_, is_ok)| !is_ok));
    let lost: Vec<u64> = lost.map(|entry| entry.request.at_ns).collect();
    assert!(lost.len() > 50, "{lost:?}");
    assert_eq!(times(&server, Asked::Connection)[1..], lost);
    assert_eq!(driven.measured().errors["2013"].count, lost.len() as u64);
}

#[test]
fn connections_that_never_work_are_opened_less_and_less_often() {
    let server = Scripted::answering(&simulation(), |_| fails(FailureKind::Lost, 0));
    let driven = drive(&lasting_s(3), &server);
    assert_eq!(driven.server_lost().1.message, "Lost 0");
    // The first one, one at once, and those after waits of 50 ms, 100 ms, 200 ms and so on.
    let connections = times(&server, Asked::Connection).len();
    assert!((4 * 5..=4 * 9).contains(&connections), "{connections}");
}

#[test]
fn no_more_than_the_limit_reconnect_at_once() {
    let server = Scripted::new(&simulation(), |request| match request.asked {
        Asked::Connection => done(10 * MS),
        Asked::Statement if request.at_ns > SECOND && request.connection < 20 => {
            fails(FailureKind::Lost, 0)
        }
        Asked::Statement => done(SERVICE),
        Asked::Rollback | Asked::Close => done(0),
    });
    let mut spec = one_user(5);
    (spec.users, spec.workers, spec.connect_limit) = (20, 3, 4);
    let driven = drive(&spec, &server);
    assert_eq!(driven.measured().reconnects, 20);
    let opened = server.requests(Asked::Connection);
    assert_eq!(opened.len(), 40);
    for entry in &opened {
        let at_ns = entry.request.at_ns;
        let open = opened
            .iter()
            .filter(|other| (other.request.at_ns..other.replied.unwrap().0).contains(&at_ns));
        let count = open.count();
        assert!(count <= 4, "{count} at {at_ns}");
    }
}

#[test]
fn a_rollback_that_loses_the_connection_reconnects() {
    let server = Scripted::new(&simulation(), |request| match request.asked {
        Asked::Statement if request.number == 3 => fails(FailureKind::Restart, 1213),
        Asked::Rollback => fails(FailureKind::Lost, 2013),
        Asked::Statement => done(SERVICE),
        Asked::Connection | Asked::Close => done(0),
    });
    let driven = drive(&one_user(1), &server);
    let total = driven.measured();
    assert_eq!(total.errors["1213"].action, "restarted");
    assert_eq!(total.errors["2013"].action, "reconnected");
    assert_eq!((total.reconnects, total.error_count()), (1, 2));
    assert_eq!(driven.outcome().end, End::Completed);
}

#[test]
fn a_server_that_is_away_at_the_end_is_lost() {
    for kind in [FailureKind::Lost, FailureKind::Away] {
        let gone = 600 * MS;
        let server = Scripted::new(&simulation(), away(gone..u64::MAX, kind));
        let driven = drive(&lasting_s(2), &server);
        let (at_ns, error) = driven.server_lost();
        // When the last transaction ended.
        assert!((gone - SERVICE..gone + SERVICE).contains(&at_ns), "{at_ns}");
        assert_eq!(error.kind, kind);
        assert_eq!(driven.outcome().unfinished.cancelled, 0);
    }
}

#[test]
fn one_user_that_cannot_return_is_no_lost_server() {
    let lost = Cell::new(false);
    let server = Scripted::new(&simulation(), move |request| match request.asked {
        Asked::Statement if request.number == 10 => {
            lost.set(true);
            fails(FailureKind::Lost, 1927)
        }
        Asked::Connection if lost.get() => fails(FailureKind::Lost, 1040),
        Asked::Statement => done(SERVICE),
        Asked::Connection | Asked::Rollback | Asked::Close => done(0),
    });
    let driven = drive(&lasting_s(2), &server);
    assert_eq!(driven.outcome().end, End::Completed);
    assert_eq!(driven.measured().reconnects, 0);
}

#[test]
fn a_load_without_a_time_limit_ends_when_the_server_stays_away() {
    let server = Scripted::new(&simulation(), away(SECOND..u64::MAX, FailureKind::Away));
    let mut spec = spec();
    (spec.time, spec.events) = (None, Some(1_000_000));
    let driven = drive(&spec, &server);
    assert!(matches!(driven.outcome().end, End::ServerLost { .. }));
    assert!((61 * SECOND..63 * SECOND).contains(&driven.ended_ns));
}

/// A server that is gone for good; another one is found later.
fn moved(kind: FailureKind, found: u64) -> (Scripted, LoadSpec) {
    let server = Scripted::new(&simulation(), away(SECOND..found, kind));
    server.reroute([(SECOND + 250 * MS, None), (found, Some(1))]);
    let mut spec = one_user(5);
    (spec.users, spec.workers, spec.connect_limit) = (64, 2, 8);
    (server, spec)
}

#[test]
fn users_connect_the_moment_that_another_server_is_found() {
    let found = 4 * SECOND;
    for kind in [FailureKind::Lost, FailureKind::Away] {
        let (server, spec) = moved(kind, found);
        let driven = drive(&spec, &server);
        assert_eq!(driven.outcome().end, End::Completed);
        assert_eq!(driven.measured().reconnects, 64);
        let connections = times(&server, Asked::Connection);
        assert_eq!(connections[connections.len() - 64..], [found; 64]);
        // No user tries to connect while there is no server.
        let while_away = SECOND + 250 * MS..found;
        assert!(!connections.iter().any(|at_ns| while_away.contains(at_ns)));
    }
}

#[test]
fn a_load_ends_in_time_while_its_users_wait_for_a_server() {
    let (server, spec) = moved(FailureKind::Lost, 90 * SECOND);
    let driven = drive(&spec, &server);
    assert!(matches!(driven.outcome().end, End::ServerLost { .. }));
    assert!(driven.ended_ns < 5 * SECOND + 100 * MS);
}

#[test]
fn a_load_ends_in_time_while_its_users_are_connecting() {
    let lost = away(SECOND..u64::MAX, FailureKind::Lost);
    let server = Scripted::new(&simulation(), move |request| match request.asked {
        Asked::Connection if request.at_ns >= SECOND => Answer::Never,
        _ => lost(request),
    });
    let mut spec = lasting_s(5);
    // Half of the users wait for the others.
    spec.connect_limit = 2;
    let driven = drive(&spec, &server);
    assert!(driven.ended_ns < START + 5 * SECOND + 100 * MS);
    assert_eq!(driven.outcome().unfinished.cancelled, 0);
}

#[test]
fn first_connections_wait_for_a_server() {
    let server = Scripted::answering(&simulation(), |_| done(SERVICE));
    server.reroute([(0, None), (3 * SECOND, Some(1))]);
    let driven = drive(&lasting_s(1), &server);
    assert_eq!(driven.outcome().end, End::Completed);
    let first = times(&server, Asked::Connection)[0];
    assert!(first >= 3 * SECOND, "{first}");
}
