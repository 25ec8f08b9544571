//! Virtual users against a recorder: which statements they send.

use crate::recorder::{Value, failure, record, run, user};
use workload::built_in::{BuiltIn, BuiltInUser};
use workload::catalog::StatementClass;
use workload::name::WorkloadName;
use workload::options::{Data, Options};
use workload::schema::Dialect;
use workload::session::FailureKind;
use workload::virtual_user::{Done, VirtualUser, Workload};

fn counts(workload: WorkloadName, options: &Options) -> [usize; 3] {
    use StatementClass::{Other, Read, Write};
    let recorder = record(workload, options, 0, 1);
    let of = |class| {
        recorder
            .sent
            .iter()
            .filter(|sent| sent.class == class)
            .count()
    };
    [Read, Write, Other].map(of)
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
    let mut options = Options::default();
    options.transaction.range_selects = false;
    options.transaction.skip_trx = true;
    options.transaction.point_selects = 3;
    options.transaction.delete_inserts = 2;
    options.transaction.index_updates = 0;
    assert_eq!(counts(WorkloadName::OltpReadWrite, &options), [3, 5, 0]);
    assert_eq!(counts(WorkloadName::OltpPointSelect, &options), [1, 0, 0]);
}

#[test]
fn options_and_tables_decide_the_statements() {
    let mut options = Options::default();
    (
        options.transaction.random_points,
        options.transaction.number_of_ranges,
    ) = (3, 2);
    let sent = |name| record(name, &options, 0, 1).sent[0].sql.clone();
    let points = "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)";
    assert_eq!(sent(WorkloadName::SelectRandomPoints), points);
    let ranges = "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?";
    assert_eq!(sent(WorkloadName::SelectRandomRanges), ranges);
    options.data.tables = 7;
    let name = WorkloadName::OltpReadWrite;
    let workload = BuiltIn::new(name, &options, &Dialect::STANDARD, 1, 1).unwrap();
    assert_eq!(workload.catalog().statements.len(), 2 + 9 * 7);
    assert_eq!(name.statement_count(&options), 2 + 9 * 7);
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
    let mut options = Options::default();
    options.data.tables = 100;
    let recorder = record(WorkloadName::OltpReadOnly, &options, 0, 1);
    let points = &recorder.sent[1..11];
    assert!(points.iter().all(|sent| sent.sql == points[0].sql));
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
    let insert = "INSERT INTO sbtest1 (k, c, pad) VALUES (?, ?, ?)";
    assert_eq!(ask.sent[0].sql, insert);
    let mut options = Options::default();
    (options.data.auto_inc, options.data.rows) = (false, 1000);
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
        let expected = Done {
            lookups,
            misses,
            ..Done::default()
        };
        assert_eq!(done, expected);
    }
}

#[test]
fn a_failure_ends_the_transaction_and_the_next_starts_anew() {
    let options = Options::default();
    let workload = WorkloadName::OltpReadWrite;
    let (mut user, mut recorder) = user(workload, &options, &Dialect::STANDARD, 0);
    let deadlock = failure(FailureKind::Restart, Some(1213));
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
    let bytes = size_of::<BuiltInUser>();
    assert!(bytes <= 300, "{bytes}");
    let workload = WorkloadName::OltpReadWrite;
    let options = Options::default();
    let (mut user, mut recorder) = user(workload, &options, &Dialect::STANDARD, 0);
    let bytes = size_of_val(&user.transaction(&mut recorder));
    // With the recorder's own futures, of about 200 bytes, in it.
    assert!(bytes <= 800, "{bytes}");
    // Thousands of users may be waiting for their turn to connect.
    let bytes = size_of_val(&user.start(&mut recorder));
    assert!(bytes <= 128, "{bytes}");
}
