//! sysbench's OLTP workloads: transactions and statements are data, and one virtual
//! user runs them all, even several kinds of transactions in turn.

mod points;
mod statement;
pub(crate) mod transaction;
mod user;

use rand_distr::weighted::WeightedIndex;

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
    /// The steps of each kind of transaction; at least one.
    kinds: Vec<Vec<NumberedStep>>,
    /// How often each kind is drawn, if there are several.
    weights: Option<WeightedIndex<f64>>,
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

/// The catalog of kinds of transactions with their weights, and the state that `users` virtual
/// users share. The options must be valid.
pub(crate) fn prepare(
    kinds: &[(Steps, f64)],
    options: &Options,
    dialect: &Dialect,
    seed: u64,
    users: u32,
) -> Result<(Catalog, Shared), DistributionError> {
    let mut catalog = Catalog::default();
    let weights = WeightedIndex::new(kinds.iter().map(|(_, weight)| weight));
    let kinds = kinds.iter();
    let kinds = kinds.map(|(steps, _)| numbered(&mut catalog, steps, options, dialect));
    let kinds: Vec<_> = kinds.collect();
    let shared = Shared {
        seed,
        users: users.max(1),
        weights: weights.ok().filter(|_| kinds.len() > 1),
        kinds,
        keys: KeySampler::new(&options.distribution, 1, options.highest_key())?,
        options: options.clone(),
    };
    Ok((catalog, shared))
}

impl Shared {
    pub(crate) fn kinds(&self) -> usize {
        self.kinds.len()
    }
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
fn numbered(
    catalog: &mut Catalog,
    steps: Steps,
    options: &Options,
    dialect: &Dialect,
) -> Vec<NumberedStep> {
    let writes = templates(steps, options).any(|one| one.class() == StatementClass::Write);
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
    steps.collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand_distr::Distribution;

    use super::*;
    use crate::random;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]

        /// Within five standard deviations of a binomial distribution.
        #[test]
        fn kinds_are_drawn_in_proportion_to_their_weights(
            weights in proptest::collection::vec(0.1..10.0_f64, 2..6),
            seed: u64,
        ) {
            const DRAWS: f64 = 20_000.0;
            let steps: Steps = &transaction::POINT_SELECT;
            let kinds: Vec<_> = weights.iter().map(|weight| (steps, *weight)).collect();
            let options = Options::default();
            let (_, shared) = prepare(&kinds, &options, &Dialect::STANDARD, 1, 1).unwrap();
            let (drawn, mut rng) = (shared.weights.unwrap(), random::user(seed, 0));
            let mut counts = vec![0.0_f64; weights.len()];
            for _ in 0..DRAWS as u32 {
                counts[drawn.sample(&mut rng)] += 1.0;
            }
            let sum: f64 = weights.iter().sum();
            for (count, weight) in counts.iter().zip(&weights) {
                let share = weight / sum;
                let deviation = (DRAWS * share * (1.0 - share)).sqrt();
                prop_assert!((count - DRAWS * share).abs() <= 5.0 * deviation + 1e-6, "{counts:?}");
            }
        }
    }
}
