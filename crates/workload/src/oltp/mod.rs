//! sysbench's OLTP workloads: transactions and statements are data, and one virtual
//! user runs them all.

mod points;
mod statement;
pub(crate) mod transaction;
mod user;

use crate::catalog::{Catalog, Labels, StatementClass};
use crate::dialect::Dialect;
use crate::distribution::{DistributionError, KeySampler};
use crate::options::Options;

use statement::{Params, Template};
use transaction::{Steps, planned};
pub use user::OltpUser;

/// What all virtual users of a load have in common.
#[derive(Debug)]
pub(crate) struct Shared {
    options: Options,
    seed: u64,
    users: u32,
    steps: Vec<NumberedStep>,
    keys: KeySampler,
}

/// A step whose statements are in the catalog.
#[derive(Debug)]
struct NumberedStep {
    statements: Vec<NumberedStatement>,
    times: u32,
    /// Whether it works on a table that is drawn.
    draws_table: bool,
}

#[derive(Debug)]
struct NumberedStatement {
    /// Its number for the first table; those for the next ones follow.
    first: u32,
    params: Params,
    is_lookup: bool,
}

/// The catalog of `steps`, and the state that `users` virtual users share. The options must be
/// valid.
pub(crate) fn prepare(
    steps: Steps,
    options: &Options,
    dialect: &Dialect,
    seed: u64,
    users: u32,
) -> Result<(Catalog, Shared), DistributionError> {
    let (catalog, steps) = numbered(steps, options, dialect);
    let shared = Shared {
        seed,
        users: users.max(1),
        steps,
        keys: KeySampler::new(&options.distribution, 1, options.highest_key())?,
        options: options.clone(),
    };
    Ok((catalog, shared))
}

/// The labels of a transaction's statements, in the order in which it runs them.
pub(crate) fn labels(steps: Steps, options: &Options) -> Labels {
    let mut labels = Labels::default();
    for template in templates(steps, options) {
        labels.intern(template.label, template.class());
    }
    labels
}

pub(crate) fn statement_count(steps: Steps, options: &Options) -> u64 {
    templates(steps, options)
        .map(|template| u64::from(copies(template, options)))
        .sum()
}

/// Whether none of the statements has a copy for each table.
pub(crate) fn has_one_table(steps: Steps) -> bool {
    let steps = steps.iter().copied().flatten();
    let mut statements = steps.flat_map(|step| step.statements);
    !statements.any(Template::is_per_table)
}

pub(crate) fn is_empty(steps: Steps, options: &Options) -> bool {
    planned(steps, options).next().is_none()
}

fn templates(steps: Steps, options: &Options) -> impl Iterator<Item = &'static Template> {
    planned(steps, options).flat_map(|(step, _)| step.statements.iter())
}

/// How many tables a statement is for.
fn copies(template: &Template, options: &Options) -> u32 {
    if template.is_per_table() {
        options.data.tables
    } else {
        1
    }
}

/// Every statement for each of its tables, and the steps that run them by number.
fn numbered(steps: Steps, options: &Options, dialect: &Dialect) -> (Catalog, Vec<NumberedStep>) {
    let writes = templates(steps, options).any(|one| one.class() == StatementClass::Write);
    let mut catalog = Catalog::default();
    let mut add = |template: &'static Template| {
        let label = catalog.labels.intern(template.label, template.class());
        let first = catalog.statements.len() as u32;
        for table in 1..=copies(template, options) {
            catalog.add(label, template.text(table, options, dialect, writes));
        }
        NumberedStatement {
            first,
            params: template.params,
            is_lookup: template.is_lookup(),
        }
    };
    let steps = planned(steps, options).map(|(step, times)| NumberedStep {
        statements: step.statements.iter().map(&mut add).collect(),
        times,
        draws_table: step.statements.iter().any(Template::is_per_table),
    });
    let steps = steps.collect();
    (catalog, steps)
}
