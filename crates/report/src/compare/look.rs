//! Whether a comparison that ends once it is decided has further starts.

use measure::compare::{Comparison, Look, looks};
use measure::result::RunResult;
use measure::summary::TrialSummary;
use plan::Trial;

use super::carried;
use super::words::of_one;
use crate::keys::{of_variant, trials_of, variants};
use crate::list::distinct;
use crate::metric_comparison::{self, NUMBERS, TestOrder};

/// Why a point has no further starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The starts that it has.
    pub starts: u32,
    /// For each variant but the first.
    pub verdicts: Vec<String>,
    /// Whether each of them is a verdict.
    pub is_conclusive: bool,
    /// Starts beyond those that would decide all; `None` if they are, or if that is unknown.
    pub more_starts: Option<u32>,
}

/// What the starts of a planned trial's point so far decide; `None` if it goes on.
pub fn decided(result: &RunResult, trial: &Trial) -> Option<Decided> {
    let compare = trial.compare?;
    let point = trial.common_point();
    let mut trials = trials_of(result);
    let point_of = |trial: &&TrialSummary| trial.setup.planned.common_point();
    let points = distinct(trials.iter().map(point_of)).len();
    trials.retain(|trial| point_of(trial) == point);
    let repeats = trials.iter().map(|trial| trial.setup.planned.repeat);
    let starts = repeats.max()?;
    if starts >= trial.repeat || !looks(compare.starts).contains(&starts) {
        return None;
    }
    let variants = variants(result);
    let (base, others) = variants.split_first()?;
    let comparisons = points * others.len();
    // A variant whose trials all failed has nothing to wait for.
    let looks = others.iter().filter_map(|name| {
        let carried = measure::compare::carried(&trials, [base, name]);
        let sides = [base, name].map(|name| of_variant(trials.iter().copied(), name));
        Some((*name, look(&sides, carried.as_ref(), comparisons)?))
    });
    let looks: Vec<(&str, Look)> = looks.collect();
    // As long as one goes on, all variants run.
    if looks.is_empty() || looks.iter().any(|(_, look)| look.goes_on) {
        return None;
    }
    let verdicts = looks.iter();
    let verdicts = verdicts.map(|(name, look)| format!("{name}: {}", of_one(&look.comparison)));
    let undecided = looks.iter().map(|(_, look)| look);
    let undecided = undecided.filter(|look| !look.comparison.is_conclusive());
    let more: Vec<Option<u32>> = undecided.map(Look::more_starts).collect();
    let most = more
        .iter()
        .copied()
        .max_by_key(|starts| starts.unwrap_or(u32::MAX));
    Some(Decided {
        starts,
        verdicts: verdicts.collect(),
        is_conclusive: more.is_empty(),
        more_starts: most.flatten(),
    })
}

/// The number of starts at the point with the fewest, because of failures, and the number that its first
/// look needs; `None` if every point has enough. A comparison with a single look needs only two.
pub fn too_few_starts(result: &RunResult) -> Option<[u32; 2]> {
    let trials = trials_of(result);
    let point_of = |trial: &TrialSummary| trial.setup.planned.common_point();
    let points = distinct(trials.iter().map(|trial| point_of(trial)));
    let left = points.into_iter().filter_map(|point| {
        let at_point = trials.iter().copied();
        let at_point = at_point.filter(|trial| point_of(trial) == point);
        let (failed, ran): (Vec<&TrialSummary>, Vec<_>) =
            at_point.partition(|trial| trial.has_failed());
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
    let is_open = metric_comparison::is_open_loop(base);
    let mut numbers = NUMBERS.into_iter();
    let first = numbers
        .find(|(column, _)| metric_comparison::test_order(column, is_open) == TestOrder::Primary)?;
    let mut found = metric_comparison::against(base, new, first, true).ok()?;
    carried::spoil(&mut found, carried);
    Some(found.at_look(comparisons))
}
