//! The state of a sequential comparison, and whether it needs further starts.

use std::time::Duration;

use measure::compare::{Comparison, Look, looks};
use measure::result::RunResult;
use measure::summary::TrialSummary;
use plan::{Point, Trial, format_duration};

use super::carried;
use super::words::of_one;
use crate::keys::{of_variant, variants};
use crate::list::{distinct, grouped};
use crate::metric_comparison::{self, NUMBERS, TestOrder};
use crate::number::counted;

/// The state of a point after the starts so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PointState {
    /// The starts that it has.
    pub starts: u32,
    /// For each variant but the first.
    pub verdicts: Vec<String>,
    /// Whether each of them is a verdict.
    pub is_conclusive: bool,
    /// Whether further starts are likely to decide it.
    goes_on: bool,
    /// Starts beyond those that would decide all; `None` if they are, or if that is unknown.
    more_starts: Option<u32>,
}

impl PointState {
    /// `after 6 starts: B: undecided …`, with the number of further starts needed, and their time if a start
    /// takes `start`.
    pub fn shown(&self, start: Option<Duration>) -> String {
        let more = self.more_starts.map(|starts| {
            let time = start.map(|start| {
                let more_s = start.saturating_mul(starts).as_secs();
                let minutes = Duration::from_secs(60 * more_s.div_ceil(60));
                format!(", {}", format_duration(minutes))
            });
            let starts = counted(starts.into(), "more start");
            format!(" (about {starts}{})", time.unwrap_or_default())
        });
        format!(
            "after {}: {}{}",
            counted(self.starts.into(), "start"),
            self.verdicts.join("; "),
            more.unwrap_or_default()
        )
    }
}

/// The state of a planned trial's point if it gets no further starts: at a look, everything is decided,
/// or further starts would hardly decide anything.
pub fn decided(result: &RunResult, trial: &Trial) -> Option<PointState> {
    let looks = looks(trial.compare?.starts);
    let is_look = |starts: u32| starts < trial.repeat && looks.contains(&starts);
    point_state(result, trial).filter(|state| is_look(state.starts) && !state.goes_on)
}

/// The state of a planned trial's point, at a look or not; `None` if nothing can be compared.
pub fn point_state(result: &RunResult, trial: &Trial) -> Option<PointState> {
    let (points, own) = (by_point(result), trial.common_point());
    let (_, trials) = points.iter().find(|(point, _)| *point == own)?;
    let starts = trials
        .iter()
        .map(|trial| trial.setup.planned.repeat)
        .max()?;
    let variants = variants(result);
    let (base, others) = variants.split_first()?;
    let comparisons = points.len() * others.len();
    // A variant whose trials all failed has nothing to wait for.
    let looks = others.iter().filter_map(|name| {
        let carried = measure::compare::carried(trials, [base, name]);
        let sides = [base, name].map(|name| of_variant(trials.iter().copied(), name));
        Some((*name, look(&sides, carried.as_ref(), comparisons)?))
    });
    let looks: Vec<(&str, Look)> = looks.collect();
    if looks.is_empty() {
        return None;
    }
    let verdicts = looks.iter();
    let verdicts = verdicts.map(|(name, look)| format!("{name}: {}", of_one(&look.comparison)));
    let undecided = looks.iter().map(|(_, look)| look);
    let undecided = undecided.filter(|look| !look.comparison.is_conclusive());
    let more: Vec<Option<u32>> = undecided.map(Look::more_starts).collect();
    let most = more.iter().max_by_key(|starts| starts.unwrap_or(u32::MAX));
    Some(PointState {
        starts,
        verdicts: verdicts.collect(),
        is_conclusive: more.is_empty(),
        // All variants run until none of them needs further starts.
        goes_on: looks.iter().any(|(_, look)| look.goes_on),
        more_starts: most.copied().flatten(),
    })
}

/// The trials of each point, of all variants.
fn by_point(result: &RunResult) -> Vec<(Point, Vec<&TrialSummary>)> {
    let trials = result.trials.iter();
    grouped(trials.map(|trial| (trial.setup.planned.common_point(), trial)))
}

/// The number of starts at the point with the fewest, because of failures, and the number that its first
/// look needs; `None` if every point has enough. A comparison with a single look needs only two.
pub fn too_few_starts(result: &RunResult) -> Option<[u32; 2]> {
    let left = by_point(result).into_iter().filter_map(|(_, trials)| {
        let (failed, ran): (Vec<&TrialSummary>, Vec<_>) =
            trials.into_iter().partition(|trial| trial.has_failed());
        let first = match looks(failed.first()?.setup.planned.compare?.starts)[..] {
            [only] => only.min(2),
            [first, ..] => first,
            [] => return None,
        };
        let repeat = |trial: &&TrialSummary| trial.setup.planned.repeat;
        let failed: Vec<u32> = failed.iter().map(repeat).collect();
        let ran = distinct(ran.iter().map(repeat));
        let left = ran.iter().filter(|start| !failed.contains(start)).count();
        Some([left as u32, first])
    });
    left.filter(|[left, first]| left < first).min()
}

/// A look at what is tested first; `None` if it cannot be compared.
fn look(
    [base, new]: &[Vec<&TrialSummary>; 2],
    carried: Option<&Comparison>,
    comparisons: usize,
) -> Option<Look> {
    let is_open = metric_comparison::is_open_loop(base.iter().copied());
    let mut numbers = NUMBERS.into_iter();
    let first = numbers
        .find(|(column, _)| metric_comparison::test_order(column, is_open) == TestOrder::Primary)?;
    let mut found = metric_comparison::against(base, new, first, true).ok()?;
    carried::spoil(&mut found, carried);
    Some(found.at_look(comparisons))
}
