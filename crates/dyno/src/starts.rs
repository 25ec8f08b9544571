//! Limits the number of starts to the budget of a comparison.

use std::time::Duration;

use lab::Trial;
use lab::needs::Needs;
use plan::key::COMPARE;
use plan::{Point, format_duration};

use crate::failure::Failure;
use crate::plan::shown_time;
use crate::study_file::PlannedStudy;

/// Duration of one start of all variants of a point.
#[derive(Default)]
struct StartTime {
    /// Warm-up and measurement.
    load: Duration,
    all: Duration,
    /// Additional time of the first start, which builds the data.
    build: Duration,
}

/// Reduces the number of starts to what the budget allows at the slowest point, by estimate. This happens
/// before any trial runs, because the intervals of all looks depend on when the last look is.
///
/// # Errors
///
/// The load of a single start exceeds the budget.
pub(crate) fn limit(
    study: &PlannedStudy,
    trials: &mut Vec<Trial>,
    needs: &[Needs],
) -> Result<(), Failure> {
    let compare = trials.first().and_then(|trial| trial.planned.compare);
    let Some(compare) = compare.filter(|compare| compare.starts > 1) else {
        return Ok(());
    };
    let points = points(trials, needs);
    let mut loads = points.iter().map(|(_, start)| start.load);
    if let Some(load) = loads.find(|load| *load > compare.budget) {
        return Err(too_small(study, compare.budget, load));
    }
    let allowed = points.iter().map(|(_, start)| {
        let left = compare.budget.saturating_sub(start.build);
        left.div_duration_f64(start.all).ceil() as u32
    });
    let starts = allowed.fold(compare.starts, u32::min).max(2);
    trials.retain(|trial| trial.planned.repeat <= starts);
    let planned = trials.iter_mut().map(|trial| &mut trial.planned);
    for compare in planned.filter_map(|planned| planned.compare.as_mut()) {
        compare.starts = starts;
    }
    Ok(())
}

fn too_small(study: &PlannedStudy, budget: Duration, load: Duration) -> Failure {
    let message = format!(
        "a budget of {} is too small for one start: its variants run for {}",
        format_duration(budget),
        shown_time(load)
    );
    let remedy = "raise `budget`, or shorten `load.warmup` and `load.time`";
    let place = |key| study.source.place(key);
    let place = place("compare.budget").or_else(|| place(COMPARE));
    let failure = Failure::usage(message).remedy(remedy);
    study.located(failure.span(place.unwrap_or_default()))
}

fn points(trials: &[Trial], needs: &[Needs]) -> Vec<(Point, StartTime)> {
    let mut points: Vec<(Point, StartTime)> = Vec::new();
    let all = trials.iter().zip(needs);
    for (trial, needs) in all.filter(|(trial, _)| trial.planned.repeat == 1) {
        let point = trial.planned.common_point();
        let known = points.iter().position(|(known, _)| *known == point);
        let at = known.unwrap_or_else(|| {
            points.push((point, StartTime::default()));
            points.len() - 1
        });
        let (start, load) = (&mut points[at].1, &trial.planned.load);
        start.load += (load.warmup + load.time).mul_f64(trial.stretch());
        start.all += needs.time - needs.build_time;
        start.build += needs.build_time;
    }
    points
}

#[cfg(test)]
mod tests;
