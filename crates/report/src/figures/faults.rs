//! The transactions around the faults of a trial.

use measure::fault::FaultRecord;
use measure::recovery::{FaultSeries, Number, PHASES};
use measure::summary::TrialSummary;
use serde::Serialize;

use super::pack::Packed;
use crate::recovery::name;

/// Most points of all faults of a page together.
const MOST_POINTS: usize = 200_000;

#[derive(Debug, Serialize)]
pub(super) struct Fault {
    /// What was done, and to what.
    name: String,
    /// In seconds from the origin of the fault's recovery.
    t: Packed,
    tps: Packed,
    /// How long a point is, in milliseconds.
    step_ms: f64,
    /// When what happened, in seconds from that.
    marks: Vec<(f64, String)>,
}

/// How many intervals a point covers, so that all faults fit.
pub(super) fn factor(series: &[Vec<FaultSeries>]) -> usize {
    let points = series.iter().flatten().map(|series| series.t_s.len());
    points.sum::<usize>().div_ceil(MOST_POINTS).max(1)
}

pub(super) fn faults(trial: &TrialSummary, series: &[FaultSeries], factor: usize) -> Vec<Fault> {
    let drawn = series.iter().filter_map(|series| {
        let is_of =
            |fault: &&FaultRecord| fault.place() == (series.fault, series.instance, series.step);
        fault(trial, trial.faults.iter().find(is_of)?, series, factor)
    });
    drawn.collect()
}

fn fault(
    trial: &TrialSummary,
    fault: &FaultRecord,
    series: &FaultSeries,
    factor: usize,
) -> Option<Fault> {
    let origin_s = fault.origin_s()?;
    let mut begin_s = *series.t_s.first()?;
    let (mut t, mut tps) = (Vec::new(), Vec::new());
    let ends = series.t_s.get(1..)?.chunks(factor);
    for (ends, completed) in ends.zip(series.completed.get(1..)?.chunks(factor)) {
        let end_s = *ends.last()?;
        let completed: u64 = completed.iter().sum();
        t.push(Some(end_s - origin_s));
        tps.push(Some(completed as f64 / (end_s - begin_s)));
        begin_s = end_s;
    }
    let length_s = begin_s - series.t_s.first()?;
    Some(Fault {
        name: name(fault, trial),
        step_ms: (length_s / t.len().max(1) as f64 * 1e3).round(),
        t: Packed::times(&t),
        tps: Packed::of(&tps),
        marks: marks(fault, origin_s),
    })
}

/// The effect, the phases of the recovery, and the healing.
fn marks(fault: &FaultRecord, origin_s: f64) -> Vec<(f64, String)> {
    let round = |seconds: f64| (seconds * 1000.0).round() / 1000.0;
    let at = |at_s: Option<f64>, what: String| Some((round(at_s? - origin_s), what));
    let phases = fault.recovery.iter().flat_map(|found| {
        let at = |phase: &Number| Some((round((phase.of)(found)?), phase.heading.to_owned()));
        PHASES.iter().filter_map(at).collect::<Vec<_>>()
    });
    let healed = at(fault.healed_s, "healed".to_owned());
    let effect = at(fault.effect_s, fault.kind.to_string()).into_iter();
    let mut marks: Vec<_> = effect.chain(phases).chain(healed).collect();
    marks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    marks
}
