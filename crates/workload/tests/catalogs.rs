//! The catalogs: what is special to a dialect or a workload.

use workload::catalog::{Catalog, Kind};
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;

fn text(workload: WorkloadName, options: &Options, dialect: Dialect, kind: Kind) -> String {
    let statements = Catalog::new(workload, options, dialect).statements;
    let found = statements.into_iter().find(|s| s.kind == kind);
    found.map(|s| s.sql).unwrap_or_default()
}

#[test]
fn sqlite_takes_the_lock_at_the_start_of_a_transaction_that_writes() {
    let options = Options::default();
    let begin = |workload, dialect| text(workload, &options, dialect, Kind::Begin);
    let (read, write) = (WorkloadName::OltpReadOnly, WorkloadName::OltpReadWrite);
    assert_eq!(begin(write, Dialect::Sqlite), "BEGIN IMMEDIATE");
    assert_eq!(begin(read, Dialect::Sqlite), "BEGIN");
    assert_eq!(begin(write, Dialect::Mysql), "BEGIN");
    let reads_only = Options {
        index_updates: 0,
        non_index_updates: 0,
        delete_inserts: 0,
        ..Options::default()
    };
    let begin = text(write, &reads_only, Dialect::Sqlite, Kind::Begin);
    assert_eq!(begin, "BEGIN");
}

#[test]
fn sqlite_numbers_new_rows_where_the_id_is_zero() {
    let insert = |options: &Options| {
        text(
            WorkloadName::OltpInsert,
            options,
            Dialect::Sqlite,
            Kind::Insert,
        )
    };
    let mut options = Options::default();
    assert_eq!(
        insert(&options),
        "INSERT INTO sbtest1 (id, k, c, pad) VALUES (NULLIF(?,0), ?, ?, ?)"
    );
    options.secondary = true;
    assert!(insert(&options).contains("SELECT COALESCE(MAX(id),0)+1 FROM sbtest1"));
    options.auto_inc = false;
    assert!(insert(&options).ends_with("VALUES (?, ?, ?, ?)"));
}

#[test]
fn points_and_ranges_are_as_many_as_asked_for() {
    let options = Options {
        random_points: 3,
        number_of_ranges: 2,
        ..Options::default()
    };
    let of = |workload, kind| text(workload, &options, Dialect::Mysql, kind);
    assert_eq!(
        of(WorkloadName::SelectRandomPoints, Kind::RandomPoints),
        "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)"
    );
    assert_eq!(
        of(WorkloadName::SelectRandomRanges, Kind::RandomRanges),
        "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?"
    );
}

#[test]
fn every_table_has_its_statements() {
    let options = Options {
        tables: 7,
        ..Options::default()
    };
    let catalog = Catalog::new(WorkloadName::OltpReadWrite, &options, Dialect::Mysql);
    assert_eq!(catalog.statements.len(), 2 + 9 * 7);
}
