//! What one transaction of a workload is made of. The catalog, the users and
//! the results all follow this one list.

use crate::kind::Kind;
use crate::name::WorkloadName;
use crate::options::Options;

/// A statement, or a group of statements that belong together, and how often a
/// transaction repeats it. All repeats go to the same table, as in sysbench.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) action: Action,
    pub(crate) times: u32,
}

/// What a step does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Action {
    Begin,
    PointSelect,
    SimpleRange,
    SumRange,
    OrderRange,
    DistinctRange,
    IndexUpdate,
    NonIndexUpdate,
    /// Deletes a row and inserts it again with new values.
    DeleteInsert,
    Delete,
    Insert,
    RandomPoints,
    RandomRanges,
    BulkRow,
    Commit,
}

impl Action {
    /// The statements it sends, in order.
    fn kinds(self) -> &'static [Kind] {
        match self {
            Action::Begin => &[Kind::Begin],
            Action::PointSelect => &[Kind::PointSelect],
            Action::SimpleRange => &[Kind::SimpleRange],
            Action::SumRange => &[Kind::SumRange],
            Action::OrderRange => &[Kind::OrderRange],
            Action::DistinctRange => &[Kind::DistinctRange],
            Action::IndexUpdate => &[Kind::IndexUpdate],
            Action::NonIndexUpdate => &[Kind::NonIndexUpdate],
            Action::DeleteInsert => &[Kind::Delete, Kind::Insert],
            Action::Delete => &[Kind::Delete],
            Action::Insert => &[Kind::Insert],
            Action::RandomPoints => &[Kind::RandomPoints],
            Action::RandomRanges => &[Kind::RandomRanges],
            Action::BulkRow => &[Kind::BulkInsert],
            Action::Commit => &[Kind::Commit],
        }
    }
}

/// The kinds of statement that a workload sends, in the order of sending.
pub fn kinds(workload: WorkloadName, options: &Options) -> Vec<Kind> {
    let mut kinds = Vec::new();
    for step in steps(workload, options) {
        kinds.extend_from_slice(step.action.kinds());
    }
    kinds
}

/// The steps of one transaction; those that are never repeated are left out.
pub(crate) fn steps(workload: WorkloadName, options: &Options) -> Vec<Step> {
    let o = options;
    let mut steps = match workload {
        WorkloadName::OltpReadWrite => transaction(o, [reads(o), writes(o)].concat()),
        WorkloadName::OltpReadOnly => transaction(o, reads(o)),
        WorkloadName::OltpWriteOnly => transaction(o, writes(o)),
        // One, whatever `point_selects` says: as in sysbench.
        WorkloadName::OltpPointSelect => one(Action::PointSelect),
        WorkloadName::OltpUpdateIndex => vec![step(Action::IndexUpdate, o.index_updates)],
        WorkloadName::OltpUpdateNonIndex => {
            vec![step(Action::NonIndexUpdate, o.non_index_updates)]
        }
        WorkloadName::OltpInsert => one(Action::Insert),
        WorkloadName::OltpDelete => one(Action::Delete),
        WorkloadName::SelectRandomPoints => one(Action::RandomPoints),
        WorkloadName::SelectRandomRanges => one(Action::RandomRanges),
        WorkloadName::BulkInsert => one(Action::BulkRow),
    };
    steps.retain(|step| step.times > 0);
    steps
}

fn reads(o: &Options) -> Vec<Step> {
    let mut steps = vec![step(Action::PointSelect, o.point_selects)];
    if o.range_selects {
        steps.extend([
            step(Action::SimpleRange, o.simple_ranges),
            step(Action::SumRange, o.sum_ranges),
            step(Action::OrderRange, o.order_ranges),
            step(Action::DistinctRange, o.distinct_ranges),
        ]);
    }
    steps
}

fn writes(o: &Options) -> Vec<Step> {
    vec![
        step(Action::IndexUpdate, o.index_updates),
        step(Action::NonIndexUpdate, o.non_index_updates),
        step(Action::DeleteInsert, o.delete_inserts),
    ]
}

/// The steps between BEGIN and COMMIT, or alone in autocommit mode.
fn transaction(o: &Options, steps: Vec<Step>) -> Vec<Step> {
    if o.skip_trx {
        return steps;
    }
    [one(Action::Begin), steps, one(Action::Commit)].concat()
}

fn one(action: Action) -> Vec<Step> {
    vec![step(action, 1)]
}

fn step(action: Action, times: u32) -> Step {
    Step { action, times }
}
