//! The transactions of sysbench's OLTP scripts, as data.

use super::statement::{self, Template};
use crate::options::Options;

/// Statements that belong together. A transaction repeats them on one table, which
/// it draws anew for each step, as sysbench does.
#[derive(Debug)]
pub(crate) struct Step {
    pub(super) statements: &'static [Template],
    pub(super) times: fn(&Options) -> u32,
}

const fn step(statements: &'static [Template], times: fn(&Options) -> u32) -> Step {
    Step { statements, times }
}

const BEGIN: Step = step(&[statement::BEGIN], |o| u32::from(!o.transaction.skip_trx));
const POINT_SELECTS: Step = step(&[statement::POINT_SELECT], |o| o.transaction.point_selects);
const SIMPLE_RANGES: Step = step(&[statement::SIMPLE_RANGE], |o| {
    ranges(o, o.transaction.simple_ranges)
});
const SUM_RANGES: Step = step(&[statement::SUM_RANGE], |o| {
    ranges(o, o.transaction.sum_ranges)
});
const ORDER_RANGES: Step = step(&[statement::ORDER_RANGE], |o| {
    ranges(o, o.transaction.order_ranges)
});
const DISTINCT_RANGES: Step = step(&[statement::DISTINCT_RANGE], |o| {
    ranges(o, o.transaction.distinct_ranges)
});
const INDEX_UPDATES: Step = step(&[statement::INDEX_UPDATE], |o| o.transaction.index_updates);
const NON_INDEX_UPDATES: Step = step(&[statement::NON_INDEX_UPDATE], |o| {
    o.transaction.non_index_updates
});
const DELETE_INSERTS: Step = step(&[statement::DELETE, statement::REINSERT], |o| {
    o.transaction.delete_inserts
});
const COMMIT: Step = step(&[statement::COMMIT], |o| u32::from(!o.transaction.skip_trx));

fn ranges(options: &Options, times: u32) -> u32 {
    if options.transaction.range_selects {
        times
    } else {
        0
    }
}

pub(crate) static READ_WRITE: [Step; 10] = [
    BEGIN,
    POINT_SELECTS,
    SIMPLE_RANGES,
    SUM_RANGES,
    ORDER_RANGES,
    DISTINCT_RANGES,
    INDEX_UPDATES,
    NON_INDEX_UPDATES,
    DELETE_INSERTS,
    COMMIT,
];
pub(crate) static READ_ONLY: [Step; 7] = [
    BEGIN,
    POINT_SELECTS,
    SIMPLE_RANGES,
    SUM_RANGES,
    ORDER_RANGES,
    DISTINCT_RANGES,
    COMMIT,
];
pub(crate) static WRITE_ONLY: [Step; 5] = [
    BEGIN,
    INDEX_UPDATES,
    NON_INDEX_UPDATES,
    DELETE_INSERTS,
    COMMIT,
];
/// One select, whatever `point_selects` says, as in sysbench.
pub(crate) static POINT_SELECT: [Step; 1] = [step(&[statement::POINT_SELECT], |_| 1)];
pub(crate) static UPDATE_INDEX: [Step; 1] = [INDEX_UPDATES];
pub(crate) static UPDATE_NON_INDEX: [Step; 1] = [NON_INDEX_UPDATES];
pub(crate) static INSERT: [Step; 2] = [
    step(&[statement::INSERT], |o| u32::from(o.data.auto_inc)),
    step(&[statement::INSERT_WITH_ID], |o| {
        u32::from(!o.data.auto_inc)
    }),
];
pub(crate) static DELETE: [Step; 1] = [step(&[statement::DELETE], |_| 1)];
pub(crate) static RANDOM_POINTS: [Step; 1] = [step(&[statement::RANDOM_POINTS], |_| 1)];
pub(crate) static RANDOM_RANGES: [Step; 1] = [step(&[statement::RANDOM_RANGES], |_| 1)];

/// The steps of one transaction with how often each is repeated; those that are not
/// run at all are left out.
pub(super) fn planned(
    steps: &'static [Step],
    options: &Options,
) -> impl Iterator<Item = (&'static Step, u32)> {
    steps
        .iter()
        .map(|step| (step, (step.times)(options)))
        .filter(|(_, times)| *times > 0)
}
