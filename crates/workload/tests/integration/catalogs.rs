//! The catalogs of the workloads.

use std::sync::Arc;

use workload::built_in::BuiltIn;
use workload::catalog::Catalog;
use workload::name::WorkloadName;
use workload::options::{Data, Options, Transaction};
use workload::schema::Dialect;
use workload::virtual_user::Workload;

fn catalog(name: WorkloadName, options: &Options, dialect: &Dialect) -> Arc<Catalog> {
    let workload = BuiltIn::new(name, options, dialect, 1, 1).unwrap();
    Arc::clone(workload.catalog())
}

/// The first statement of that label.
fn text(name: WorkloadName, options: &Options, dialect: &Dialect, label: &str) -> String {
    let catalog = catalog(name, options, dialect);
    let place = catalog.labels.iter().position(|(name, _)| name == label);
    let mut statements = catalog.statements.iter();
    let found = statements.find(|s| Some(s.label.index()) == place);
    found.map(|s| s.sql.clone()).unwrap_or_default()
}

#[test]
fn points_and_ranges_are_as_many_as_asked_for() {
    let options = Options {
        transaction: Transaction {
            random_points: 3,
            number_of_ranges: 2,
            ..Transaction::default()
        },
        ..Options::default()
    };
    let of = |workload, label| text(workload, &options, &Dialect::STANDARD, label);
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
        data: Data {
            tables: 7,
            ..Data::default()
        },
        ..Options::default()
    };
    let name = WorkloadName::OltpReadWrite;
    let statements = &catalog(name, &options, &Dialect::STANDARD).statements;
    assert_eq!(statements.len(), 2 + 9 * 7);
    assert_eq!(name.statement_count(&options), 2 + 9 * 7);
}
