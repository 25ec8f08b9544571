//! What most checks have in common: comparing a value with limits, and listing values.

use std::fmt::Display;

use measure::finding::Level;
use measure::finding::check::{Judged, Observed, graded, passed, unknown};

/// The value, or the observation that `source` could not be read.
pub(super) fn known<T>(value: Option<T>, source: &str) -> Result<T, Observed> {
    value.ok_or_else(|| unknown(format!("{source}: not available")))
}

pub(super) fn joined<T>(
    all: impl IntoIterator<Item = T>,
    shown: impl FnMut(T) -> String,
) -> String {
    all.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// Grades a value that is shown as it is.
pub(super) fn is<T: Display + Copy>(
    value: Option<T>,
    source: &str,
    level: impl FnOnce(T) -> Level,
) -> Judged {
    let value = known(value, source)?;
    Ok(graded(level(value), format!("{source}: {value}")))
}

/// Grades a number by the first threshold that it reaches.
pub(super) fn at_least<T: PartialOrd + Copy>(
    value: Option<T>,
    thresholds: &[(T, Level)],
    source: &str,
    shown: impl FnOnce(T) -> String,
) -> Judged {
    let value = known(value, source)?;
    let reached = thresholds.iter().find(|(limit, _)| value >= *limit);
    let level = reached.map_or(Level::Passed, |(_, level)| *level);
    Ok(graded(level, format!("{source}: {}", shown(value))))
}

/// Compares a limit with what the load needs; without a load, the check passes.
pub(super) fn is_enough(limit: u64, needed: Option<u64>, observed: String) -> Observed {
    let Some(needed) = needed else {
        return passed(observed);
    };
    let level = Level::Severe.when(needed > limit);
    graded(level, format!("{observed}; the load needs {needed}")).with("NEEDED", needed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Severe, Warning};
    use measure::finding::check::{severe, warning};

    #[test]
    fn the_highest_reached_threshold_determines_the_level() {
        let with = |value: Option<f64>| {
            let shown = |value: f64| value.to_string();
            at_least(value, &[(5.0, Severe), (1.0, Warning)], "/file", shown)
        };
        assert_eq!(with(Some(5.0)), Ok(severe("/file: 5")));
        assert_eq!(with(Some(1.0)), Ok(warning("/file: 1")));
        assert_eq!(with(Some(0.9)), Ok(passed("/file: 0.9")));
        assert_eq!(with(None), Err(unknown("/file: not available")));
    }
}
