//! The catalogs: what is special to a dialect or a workload.

#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::sync::Arc;

use workload::built_in::BuiltIn;
use workload::catalog::Catalog;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::schema::Dialect;
use workload::virtual_user::Workload;

fn catalog(name: WorkloadName, options: &Options, dialect: Dialect) -> Arc<Catalog> {
    let workload = BuiltIn::new(name, options, dialect, 1, 1).unwrap();
    Arc::clone(workload.catalog())
}

/// The first statement of that label.
fn text(name: WorkloadName, options: &Options, dialect: Dialect, label: &str) -> String {
    let catalog = catalog(name, options, dialect);
    let place = catalog.labels.iter().position(|(name, _)| name == label);
    let mut statements = catalog.statements.iter();
    let found = statements.find(|s| Some(s.label.index()) == place);
    found.map(|s| s.sql.clone()).unwrap_or_default()
}

#[test]
fn sqlite_takes_the_lock_at_the_start_of_a_transaction_that_writes() {
    let options = Options::default();
    let begin = |workload, dialect| text(workload, &options, dialect, "begin");
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
    let begin = text(write, &reads_only, Dialect::Sqlite, "begin");
    assert_eq!(begin, "BEGIN");
}

#[test]
fn sqlite_numbers_new_rows() {
    let insert =
        |options: &Options| text(WorkloadName::OltpInsert, options, Dialect::Sqlite, "insert");
    let mut options = Options::default();
    assert_eq!(
        insert(&options),
        "INSERT INTO sbtest1 (k, c, pad) VALUES (?, ?, ?)"
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
    let of = |workload, label| text(workload, &options, Dialect::Mysql, label);
    assert_eq!(
        of(WorkloadName::SelectRandomPoints, "random_points"),
        "SELECT id, k, c, pad FROM sbtest1 WHERE k IN (?, ?, ?)"
    );
    assert_eq!(
        of(WorkloadName::SelectRandomRanges, "random_ranges"),
        "SELECT count(k) FROM sbtest1 WHERE k BETWEEN ? AND ? OR k BETWEEN ? AND ?"
    );
}

#[test]
fn every_table_has_its_statements() {
    let options = Options {
        tables: 7,
        ..Options::default()
    };
    let name = WorkloadName::OltpReadWrite;
    let statements = &catalog(name, &options, Dialect::Mysql).statements;
    assert_eq!(statements.len(), 2 + 9 * 7);
    assert_eq!(name.statement_count(&options), 2 + 9 * 7);
}
