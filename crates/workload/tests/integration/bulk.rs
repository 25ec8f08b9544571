//! Bulk inserts: full packets, every row once.

use crate::recorder::{Recorder, failure, run};
use workload::built_in::BuiltInUser;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::session::FailureKind;
use workload::virtual_user::VirtualUser;

const PACKET_BYTES: usize = 512 * 1024;

/// The third user.
fn user() -> (BuiltInUser, Recorder) {
    let options = Options::default();
    crate::recorder::user(WorkloadName::BulkInsert, &options, &Dialect::STANDARD, 2)
}

fn rows(text: &str) -> Vec<u64> {
    let rows = text.strip_prefix("INSERT INTO sbtest3 VALUES").unwrap();
    let rows = rows.trim_start_matches('(').trim_end_matches(')');
    let pairs = rows.split("),(").map(|pair| pair.split_once(',').unwrap());
    let id = |(id, k): (&str, &str)| {
        assert_eq!(id, k);
        id.parse().unwrap()
    };
    pairs.map(id).collect()
}

#[test]
fn packets_are_full_and_hold_every_row_once() {
    let (mut user, mut recorder) = user();
    for _ in 0..100_000 {
        run(user.transaction(&mut recorder)).unwrap();
    }
    run(user.finish(&mut recorder)).unwrap();
    run(user.finish(&mut recorder)).unwrap();
    let (last, full) = recorder.sent.split_last().unwrap();
    assert_eq!(full.len(), 2);
    for sent in full {
        assert_eq!(sent.label, "bulk_insert");
        assert!(sent.sql.len() <= PACKET_BYTES);
        assert!(sent.sql.len() > PACKET_BYTES - 100);
    }
    assert!(last.sql.len() <= PACKET_BYTES);
    let sent: Vec<u64> = recorder.sent.iter().flat_map(|s| rows(&s.sql)).collect();
    assert_eq!(sent, (1..=100_000).collect::<Vec<_>>());
}

#[test]
fn rows_are_sent_again_only_after_a_restart() {
    for (kind, again) in [(FailureKind::Restart, true), (FailureKind::Lost, false)] {
        let (mut user, mut recorder) = user();
        recorder.fail_at(0, failure(kind, Some(1205)));
        run(user.transaction(&mut recorder)).unwrap();
        run(user.finish(&mut recorder)).unwrap_err();
        run(user.finish(&mut recorder)).unwrap();
        assert_eq!(recorder.sent.len(), if again { 2 } else { 1 });
    }
}

#[test]
fn a_duplicate_key_ends_the_load_although_transactions_restart_after_one() {
    let (mut user, mut recorder) = user();
    let mut duplicate = failure(FailureKind::Restart, None);
    duplicate.sqlstate = Some(*b"23505");
    recorder.fail_at(0, duplicate);
    run(user.transaction(&mut recorder)).unwrap();
    let error = run(user.finish(&mut recorder)).unwrap_err();
    assert_eq!(error.kind, FailureKind::Refused);
}
