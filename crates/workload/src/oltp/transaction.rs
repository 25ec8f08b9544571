//! The transactions of sysbench's OLTP scripts, as data.

use super::statement::{self, Params, Template};
use crate::options::Options;

/// Statements that belong together. A transaction repeats them on one table, which
/// it draws anew for each step, as sysbench does.
#[derive(Debug)]
pub(crate) struct Step {
    pub(super) statements: &'static [Template],
    times: fn(&Options) -> u32,
}

/// The steps of a transaction in groups that several transactions share. They run in this order.
pub(crate) type Steps = &'static [&'static [Step]];

const fn step(statements: &'static [Template], times: fn(&Options) -> u32) -> Step {
    Step { statements, times }
}

const BEGIN: Step = step(&[statement::BEGIN], |o| u32::from(!o.transaction.skip_trx));
const READS: [Step; 5] = [
    step(&[statement::POINT_SELECT], |o| o.transaction.point_selects),
    step(&[statement::SIMPLE_RANGE], |o| o.transaction.simple_ranges),
    step(&[statement::SUM_RANGE], |o| o.transaction.sum_ranges),
    step(&[statement::ORDER_RANGE], |o| o.transaction.order_ranges),
    step(&[statement::DISTINCT_RANGE], |o| {
        o.transaction.distinct_ranges
    }),
];
const INDEX_UPDATES: Step = step(&[statement::INDEX_UPDATE], |o| o.transaction.index_updates);
const NON_INDEX_UPDATES: Step = step(&[statement::NON_INDEX_UPDATE], |o| {
    o.transaction.non_index_updates
});
const WRITES: [Step; 3] = [
    INDEX_UPDATES,
    NON_INDEX_UPDATES,
    step(&[statement::DELETE, statement::REINSERT], |o| {
        o.transaction.delete_inserts
    }),
];
const COMMIT: Step = step(&[statement::COMMIT], |o| u32::from(!o.transaction.skip_trx));

pub(crate) static READ_WRITE: [&[Step]; 4] = [&[BEGIN], &READS, &WRITES, &[COMMIT]];
pub(crate) static READ_ONLY: [&[Step]; 3] = [&[BEGIN], &READS, &[COMMIT]];
pub(crate) static WRITE_ONLY: [&[Step]; 3] = [&[BEGIN], &WRITES, &[COMMIT]];
/// One select, whatever `point_selects` says, as in sysbench.
pub(crate) static POINT_SELECT: [&[Step]; 1] = [&[step(&[statement::POINT_SELECT], |_| 1)]];
pub(crate) static UPDATE_INDEX: [&[Step]; 1] = [&[INDEX_UPDATES]];
pub(crate) static UPDATE_NON_INDEX: [&[Step]; 1] = [&[NON_INDEX_UPDATES]];
pub(crate) static INSERT: [&[Step]; 1] = [&[
    step(&[statement::INSERT], |o| u32::from(o.data.auto_inc)),
    step(&[statement::INSERT_WITH_ID], |o| {
        u32::from(!o.data.auto_inc)
    }),
]];
pub(crate) static DELETE: [&[Step]; 1] = [&[step(&[statement::DELETE], |_| 1)]];
pub(crate) static RANDOM_POINTS: [&[Step]; 1] = [&[step(&[statement::RANDOM_POINTS], |_| 1)]];
pub(crate) static RANDOM_RANGES: [&[Step]; 1] = [&[step(&[statement::RANDOM_RANGES], |_| 1)]];

/// The steps of one transaction with how often each is repeated; those that are not
/// run at all are left out.
pub(super) fn planned(
    steps: Steps,
    options: &Options,
) -> impl Iterator<Item = (&'static Step, u32)> {
    let is_range = |statement: &Template| matches!(statement.params, Params::Range);
    let times = move |step: &Step| match options.transaction.range_selects {
        false if step.statements.iter().any(is_range) => 0,
        _ => (step.times)(options),
    };
    let steps = steps.iter().copied().flatten();
    steps
        .map(move |step| (step, times(step)))
        .filter(|(_, times)| *times > 0)
}
