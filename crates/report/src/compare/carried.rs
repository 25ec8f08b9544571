//! Whether variants that take turns disturb each other.

use measure::compare::{Boundary, Comparison, Decision, NoVerdict, carry_over, starts_in_turns};
use measure::summary::TrialSummary;

use super::Matched;

/// What the turns of two variants leave to the next ones at a point, of all of whose variants these
/// are the trials; `None` unless they took turns.
pub(super) fn of_point(trials: &[&TrialSummary], sides: [&str; 2]) -> Option<Comparison> {
    let starts = starts_in_turns(trials, &sides);
    carry_over(&starts, [0, 1], Boundary::of_trials(trials.iter())).ok()
}

/// Leaves a comparison without a verdict if turns disturb each other.
pub(super) fn spoil(found: &mut Comparison, carried: Option<&Comparison>) {
    let shown =
        carried.filter(|carried| matches!(carried.decision, Decision::Faster | Decision::Slower));
    if let Some(Comparison { change_pct, .. }) = shown.copied() {
        found.leave_open(NoVerdict::CarryOver { change_pct });
    }
}

/// What to know beside the verdicts where the starts do not tell.
pub(super) fn caution(points: &[Matched]) -> Option<String> {
    let carried = points.iter().filter_map(|point| point.carried);
    let unknown = carried.filter(|one| matches!(one.decision, Decision::Undecided { .. }));
    let least_known = unknown.max_by(|one, other| {
        let error = |one: &Comparison| one.log_ratio.map_or(0.0, |ratio| ratio.error);
        error(one).total_cmp(&error(other))
    })?;
    Some(format!(
        "Whether turns disturb each other by more than 1 % is not known: blocks after their own \
         variant against blocks after another: {}. alternate = \"never\" runs whole trials.",
        least_known.change_pct
    ))
}
