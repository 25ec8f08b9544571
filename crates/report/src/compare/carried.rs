//! Whether variants that take turns disturb each other.

use measure::compare::{Comparison, Decision, NoVerdict};
use measure::summary::TrialSummary;

use super::Matched;

/// Takes the verdict from a comparison if turns disturb each other.
pub(super) fn spoil(found: &mut Comparison, carried: Option<&Comparison>) {
    let shown = carried.filter(|carried| carried.is_difference());
    if let Some(Comparison { change_pct, .. }) = shown.copied() {
        found.leave_open(NoVerdict::CarryOver { change_pct });
    }
}

/// Whether a trial wrote in turns on a server that was not restarted: one start cannot be tested for
/// carry-over.
pub(super) fn has_untested_writes(trial: &TrialSummary) -> bool {
    let planned = &trial.setup.planned;
    trial.writes > 0 && planned.turns().is_some() && !planned.server.is_restarted()
}

/// A caution if the starts do not show whether turns are fair.
pub(super) fn caution(points: &[Matched]) -> Option<String> {
    if points.iter().any(|point| point.has_untested_writes) {
        return Some(
            "The servers took turns and wrote: work that one server deferred, such as a checkpoint or \
             a purge, may have slowed the turns of another. A single start cannot show this, and the \
             intervals do not account for it. To compare writes, let dyno start the servers: use \
             [compare] in a study."
                .to_owned(),
        );
    }
    let carried = points.iter().filter_map(|point| point.carried);
    let unknown = carried.filter(|one| matches!(one.decision, Decision::Undecided { .. }));
    let least_known = unknown.max_by(|one, other| {
        let error = |one: &Comparison| one.log_ratio.map_or(0.0, |ratio| ratio.error);
        error(one).total_cmp(&error(other))
    })?;
    Some(format!(
        "It is not known whether turns disturb each other by more than 1 %: the carry-over between \
         them is {}. alternate = \"never\" runs whole trials instead.",
        least_known.change_pct
    ))
}
