//! Whether a comparison that ends once it is decided has further starts.

use measure::compare::{Look, looks};
use measure::result::RunResult;
use measure::summary::TrialSummary;
use plan::Trial;

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
    /// Starts beyond those that would decide the others; `None` if all are decided, or unknown.
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
    let looks = others.iter().map(|new| {
        let [base, new] = [base, new].map(|name| of_variant(trials.iter().copied(), name));
        let look = look(&base, &new, comparisons)?;
        (!look.goes_on).then_some(look)
    });
    // As long as one goes on, all variants run.
    let looks: Vec<Look> = looks.collect::<Option<_>>()?;
    let verdicts = looks.iter().zip(others);
    let verdicts = verdicts.map(|(look, name)| format!("{name}: {}", of_one(&look.comparison)));
    Some(Decided {
        starts,
        verdicts: verdicts.collect(),
        more_starts: looks.iter().filter_map(Look::more_starts).max(),
    })
}

/// A look at what is tested first; `None` if it cannot be compared.
fn look(base: &[&TrialSummary], new: &[&TrialSummary], comparisons: usize) -> Option<Look> {
    let is_open = metric_comparison::is_open_loop(base);
    let mut numbers = NUMBERS.into_iter();
    let first = numbers
        .find(|(column, _)| metric_comparison::test_order(column, is_open) == TestOrder::Primary)?;
    let found = metric_comparison::against(base, new, first, true).ok()?;
    Some(found.at_look(comparisons))
}
