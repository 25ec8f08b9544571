//! Whether variants that take turns disturb each other.

use measure::compare::{Comparison, Decision, NoVerdict};

use super::Matched;

/// Takes the verdict from a comparison if turns disturb each other.
pub(super) fn spoil(found: &mut Comparison, carried: Option<&Comparison>) {
    let shown =
        carried.filter(|carried| matches!(carried.decision, Decision::Faster | Decision::Slower));
    if let Some(Comparison { change_pct, .. }) = shown.copied() {
        found.leave_open(NoVerdict::CarryOver { change_pct });
    }
}

/// A caution if the starts do not show whether turns are fair.
pub(super) fn caution(points: &[Matched]) -> Option<String> {
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
