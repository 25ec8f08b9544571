//! The throughput of a server with each number of instances.

use measure::interval::{Estimate, picked};
use measure::point_estimate::PointEstimate;
use measure::result::RunResult;
use measure::size::Choice;
use measure::summary::{TrialSummary, counted};
use serde::Serialize;

use crate::cell::Cell;
use crate::keys;
use crate::point;

/// The key that varies how many instances run at once.
pub(super) const INSTANCES: &str = "topology.instances";

/// One number of instances.
#[derive(Debug, Serialize)]
pub(super) struct Row {
    #[serde(flatten)]
    pub(super) choice: Choice,
    /// At which of several points; empty when there is one.
    pub(super) at: String,
    /// Trials that the throughput is the mean of.
    pub(super) n: usize,
    /// Mean response time at that throughput, in milliseconds.
    pub(super) mean_ms: Option<Estimate>,
    /// Its 99th percentile, in milliseconds.
    pub(super) p99_ms: Cell,
    #[serde(skip)]
    pub(super) trials: Vec<TrialSummary>,
}

/// The best point of each number of instances with any throughput, from few to many, before the
/// planning.
pub(super) fn rows(result: &RunResult, wanted: &[(String, String)]) -> Vec<Row> {
    let axes = keys::axes(result);
    let all: Vec<&TrialSummary> = result.trials.iter().collect();
    let trials = point::having(&all, &axes, wanted);
    let rows = point::by_instances(&trials).into_iter();
    let rows = rows.filter_map(|(instances, such)| {
        let points = point::points(&such, &point::varied(&such, &axes), &axes);
        row(instances, point::best(&points)?, points.len())
    });
    rows.collect()
}

fn row(instances: u32, best: &point::Point<'_>, among: usize) -> Option<Row> {
    let per_s = PointEstimate::of(&best.trials, "tps").mean;
    let per_s = per_s.filter(|per_s| per_s.value > 0.0)?;
    let per_s = picked(per_s, best.tps.n, among);
    Some(Row {
        choice: Choice {
            instances,
            per_s,
            servers: 0,
            range: None,
            saved: None,
            price: None,
        },
        at: best.name.clone(),
        n: best.tps.n,
        mean_ms: Cell::of(&best.trials, "response_ms.mean").estimate,
        p99_ms: Cell::of(&best.trials, "response_ms.p99"),
        trials: counted(&best.trials).into_iter().cloned().collect(),
    })
}

/// What to know of the measurements before the plan is trusted.
pub(super) fn cautions(rows: &[Row]) -> Vec<String> {
    let named = |holds: &dyn Fn(&Row) -> bool| {
        let such = rows.iter().filter(|row| holds(row));
        let such: Vec<String> = such.map(|row| row.choice.instances.to_string()).collect();
        (!such.is_empty()).then(|| such.join(", "))
    };
    let is_sure = |row: &Row| row.choice.per_s.half_width.is_some();
    let single = named(&|row| row.n == 1 && is_sure(row)).map(|instances| {
        format!(
            "Only one trial with {instances} instances: the interval comes from within the trial and \
             excludes run-to-run variation. Repeat the trials (load.repeats)."
        )
    });
    let unsure = named(&|row| !is_sure(row)).map(|instances| {
        format!(
            "Too short for a confidence interval with {instances} instances, so the error of their \
             number of servers is unknown. Measure longer, or repeat the trials (load.repeats)."
        )
    });
    let given = |trial: &TrialSummary| trial.setup.planned.load.rate.is_some();
    let open = named(&|row| row.trials.iter().any(given)).map(|instances| {
        format!(
            "The load with {instances} instances was an open loop: its throughput is the arrival \
             rate, and the server may be capable of more. Find the highest rate (find_max), or use \
             a closed loop."
        )
    });
    single.into_iter().chain(unsure).chain(open).collect()
}
