//! Whether two points differ.

use measure::summary::TrialSummary;

use crate::cell::Cell;

/// Whether what was measured tells two points apart in a column, when `_tests` such
/// questions are asked at once.
pub(crate) fn told_apart(
    one: &[TrialSummary],
    other: &[TrialSummary],
    column: &str,
    _tests: usize,
) -> bool {
    let span = |trials: &[TrialSummary]| {
        let cell = Cell::of(&trials.iter().collect::<Vec<_>>(), column);
        Some((cell.value()?, cell.half_width()?))
    };
    match (span(one), span(other)) {
        (Some((a, half)), Some((b, other))) => (a - b).abs() > half + other,
        _ => false,
    }
}
