//! Virtual users against a recorder: which statements they send.

use crate::recorder::{Value, record, run, user};
use workload::built_in::BuiltInUser;
use workload::catalog::StatementClass;
use workload::name::WorkloadName;
use workload::options::{Data, Options, Transaction};
use workload::schema::Dialect;
use workload::session::{FailureKind, SessionError};
use workload::virtual_user::{Done, VirtualUser};

fn counts(workload: WorkloadName, options: &Options) -> [usize; 3] {
    let recorder = record(workload, options, 0, 1);
    [
        StatementClass::Read,
        StatementClass::Write,
        StatementClass::Other,
    ]
    .map(|class| {
        let of_class = recorder.sent.iter().filter(|sent| sent.class == class);
        of_class.count()
    })
}

#[test]
fn every_workload_sends_as_many_statements_as_sysbench() {
    let options = Options::default();
    for (workload, expected) in [
        (WorkloadName::OltpReadWrite, [14, 4, 2]),
        (WorkloadName::OltpReadOnly, [14, 0, 2]),
        (WorkloadName::OltpWriteOnly, [0, 4, 2]),
        (WorkloadName::OltpPointSelect, [1, 0, 0]),
        (WorkloadName::OltpUpdateIndex, [0, 1, 0]),
        (WorkloadName::OltpUpdateNonIndex, [0, 1, 0]),
        (WorkloadName::OltpInsert, [0, 1, 0]),
        (WorkloadName::OltpDelete, [0, 1, 0]),
        (WorkloadName::SelectRandomPoints, [1, 0, 0]),
        (WorkloadName::SelectRandomRanges, [1, 0, 0]),
        (WorkloadName::BulkInsert, [0, 0, 0]),
    ] {
        assert_eq!(counts(workload, &options), expected, "{workload}");
    }
}

#[test]
fn options_change_the_statements() {
    let options = Options {
        transaction: Transaction {
            range_selects: false,
            skip_trx: true,
            point_selects: 3,
            delete_inserts: 2,
            index_updates: 0,
            ..Transaction::default()
        },
        ..Options::default()
    };
    assert_eq!(counts(WorkloadName::OltpReadWrite, &options), [3, 5, 0]);
    assert_eq!(counts(WorkloadName::OltpPointSelect, &options), [1, 0, 0]);
}

#[test]
fn statements_are_sent_in_the_order_of_the_labels() {
    for workload in WorkloadName::ALL {
        let options = Options::default();
        let recorder = record(workload, &options, 0, 1);
        let mut sent: Vec<_> = recorder.sent.iter().map(|s| s.label.as_str()).collect();
        sent.dedup();
        if workload != WorkloadName::BulkInsert {
            let labels = workload.labels(&options);
            assert!(labels.iter().map(|(name, _)| name).eq(sent));
        }
    }
}

#[test]
fn the_texts_are_those_of_sysbench() {
    let recorder = record(WorkloadName::OltpReadWrite, &Options::default(), 0, 1);
    let mut texts: Vec<&str> = recorder.sent.iter().map(|s| s.sql.as_str()).collect();
    texts.dedup();
    assert_eq!(
        texts,
        [
            "BEGIN",
            "SELECT c FROM sbtest1 WHERE id=?",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ?",
            "SELECT SUM(k) FROM sbtest1 WHERE id BETWEEN ? AND ?",
            "SELECT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "SELECT DISTINCT c FROM sbtest1 WHERE id BETWEEN ? AND ? ORDER BY c",
            "UPDATE sbtest1 SET k=k+1 WHERE id=?",
            "UPDATE sbtest1 SET c=? WHERE id=?",
            "DELETE FROM sbtest1 WHERE id=?",
            "INSERT INTO sbtest1 (id, k, c, pad) VALUES (?, ?, ?, ?)",
            "COMMIT",
        ]
    );
}

#[test]
fn every_statement_has_its_parameters_and_every_table_is_used() {
    let mut options = Options::default();
    for workload in WorkloadName::ALL {
        let tables = match workload {
            WorkloadName::SelectRandomPoints | WorkloadName::SelectRandomRanges => 1,
            _ => 5,
        };
        options.data.tables = tables;
        let recorder = record(workload, &options, 1, 200);
        for sent in &recorder.sent {
            assert_eq!(sent.params.len(), sent.sql.matches('?').count());
        }
        let used = (1..=tables).all(|t| {
            let name = format!("sbtest{t} ");
            recorder.sent.iter().any(|s| s.sql.contains(&name))
        });
        assert!(used || workload == WorkloadName::BulkInsert, "{workload}");
    }
}

#[test]
fn a_group_of_statements_stays_on_one_table() {
    let options = Options {
        data: Data {
            tables: 100,
            ..Data::default()
        },
        ..Options::default()
    };
    let recorder = record(WorkloadName::OltpReadOnly, &options, 0, 1);
    let mut points: Vec<&str> = recorder.sent[1..11]
        .iter()
        .map(|s| s.sql.as_str())
        .collect();
    points.dedup();
    assert_eq!(points.len(), 1);
}

#[test]
fn the_seed_and_the_user_decide_the_statements() {
    let options = Options::default();
    let of_user = |user| record(WorkloadName::OltpReadWrite, &options, user, 5).sent;
    assert_eq!(of_user(0), of_user(0));
    assert_ne!(of_user(0), of_user(1));
}

#[test]
fn keys_stay_in_their_range_and_fill_it() {
    let options = Options {
        data: Data {
            rows: 100,
            ..Data::default()
        },
        key_range: Some(200),
        distribution: "uniform".parse().unwrap(),
        ..Options::default()
    };
    let recorder = record(WorkloadName::OltpPointSelect, &options, 0, 5_000);
    let mut keys: Vec<i64> = recorder.numbers("point_select", 0).collect();
    keys.sort_unstable();
    keys.dedup();
    assert_eq!(keys, (1..=200).collect::<Vec<_>>());
}

#[test]
fn ranges_have_their_size() {
    let recorder = record(WorkloadName::OltpReadOnly, &Options::default(), 0, 50);
    let first = recorder.numbers("sum_range", 0);
    for (first, last) in first.zip(recorder.numbers("sum_range", 1)) {
        assert_eq!(last - first, 99);
    }
    let recorder = record(WorkloadName::SelectRandomRanges, &Options::default(), 2, 50);
    for place in (0..20).step_by(2) {
        let first = recorder.numbers("random_ranges", place);
        for (first, last) in first.zip(recorder.numbers("random_ranges", place + 1)) {
            assert_eq!(last - first, 5);
            // The third of four users has the third quarter.
            assert!((5_000..=7_500).contains(&first));
        }
    }
}

#[test]
fn a_deleted_row_is_inserted_again() {
    let recorder = record(WorkloadName::OltpWriteOnly, &Options::default(), 0, 50);
    let deleted: Vec<i64> = recorder.numbers("delete", 0).collect();
    let inserted: Vec<i64> = recorder.numbers("insert", 0).collect();
    assert_eq!(deleted, inserted);
    let insert = recorder.sent.iter().find(|s| s.label == "insert");
    let lengths = insert.unwrap().params.iter().map(Value::len);
    assert!(lengths.skip(2).eq([119, 59]));
}

#[test]
fn new_rows_get_their_id_from_the_server_or_above_the_rows() {
    let ask = record(WorkloadName::OltpInsert, &Options::default(), 0, 3);
    assert_eq!(
        ask.sent[0].sql,
        "INSERT INTO sbtest1 (k, c, pad) VALUES (?, ?, ?)"
    );
    let options = Options {
        data: Data {
            auto_inc: false,
            rows: 1000,
            ..Data::default()
        },
        ..Options::default()
    };
    let mut ids = Vec::new();
    for user in 0..4 {
        let recorder = record(WorkloadName::OltpInsert, &options, user, 3);
        ids.extend(recorder.numbers("insert", 0));
    }
    ids.sort_unstable();
    assert_eq!(ids, (1001..=1012).collect::<Vec<_>>());
}

#[test]
fn lookups_that_find_nothing_are_counted() {
    let options = Options::default();
    for (found, misses) in [(1, 0), (0, 13)] {
        let workload = WorkloadName::OltpReadWrite;
        let (mut user, mut recorder) = user(workload, &options, &Dialect::STANDARD, 0);
        recorder.found = found;
        let done = run(user.transaction(&mut recorder)).unwrap();
        let lookups = 13;
        assert_eq!(done, Done { lookups, misses });
    }
}

#[test]
fn a_failure_ends_the_transaction_and_the_next_starts_anew() {
    let options = Options::default();
    let workload = WorkloadName::OltpReadWrite;
    let (mut user, mut recorder) = user(workload, &options, &Dialect::STANDARD, 0);
    let deadlock = SessionError {
        kind: FailureKind::Restart,
        sqlstate: None,
        number: Some(1213),
        message: "Deadlock found".to_owned(),
        statement: None,
    };
    recorder.fail_at(16, deadlock.clone());
    assert_eq!(run(user.transaction(&mut recorder)), Err(deadlock));
    assert_eq!(recorder.sent.len(), 17);
    run(user.transaction(&mut recorder)).unwrap();
    assert_eq!(recorder.sent.len(), 37);
    assert_eq!(recorder.sent[17].label, "begin");
    assert_ne!(recorder.sent[18].params, recorder.sent[1].params);
}

#[test]
fn a_user_and_its_transaction_are_small() {
    assert!(
        size_of::<BuiltInUser>() <= 300,
        "{}",
        size_of::<BuiltInUser>()
    );
    let workload = WorkloadName::OltpReadWrite;
    let options = Options::default();
    let (mut user, mut recorder) = user(workload, &options, &Dialect::STANDARD, 0);
    let bytes = size_of_val(&user.transaction(&mut recorder));
    // With the recorder's own futures, of about 200 bytes, in it.
    assert!(bytes <= 800, "{bytes}");
}
