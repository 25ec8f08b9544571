//! The rules that most checks share: they compare a value with limits or a list.

use measure::finding::Level;

use super::check::Observed;

/// Compares a number with thresholds. The first one that it reaches determines the level.
pub(super) fn at_least(
    value: Option<f64>,
    thresholds: &[(f64, Level)],
    source: &str,
    shown: impl FnOnce(f64) -> String,
) -> Observed {
    let Some(value) = value else {
        return missing(source);
    };
    let reached = thresholds.iter().find(|(limit, _)| value >= *limit);
    graded(
        reached.map(|(_, level)| *level),
        format!("{source}: {}", shown(value)),
    )
}

/// Compares a word with a list of findings.
pub(super) fn is_one_of(value: Option<&str>, findings: &[(&str, Level)], source: &str) -> Observed {
    let Some(value) = value else {
        return missing(source);
    };
    let found = findings.iter().find(|(word, _)| *word == value);
    graded(found.map(|(_, level)| *level), format!("{source}: {value}"))
}

/// Compares a limit with what the load needs; without a load, the check passes.
pub(super) fn is_enough(limit: u64, needed: Option<u64>, observed: String) -> Observed {
    match needed {
        None => Observed::passed(observed),
        Some(needed) if needed > limit => {
            Observed::severe(format!("{observed}; the load needs {needed}")).with("NEEDED", needed)
        }
        Some(needed) => Observed::passed(format!("{observed}; the load needs {needed}")),
    }
}

/// A finding with a level, or a check that passed.
pub(super) fn graded(level: Option<Level>, observed: String) -> Observed {
    match level {
        Some(level) => Observed::found(level, observed),
        None => Observed::passed(observed),
    }
}

fn missing(source: &str) -> Observed {
    Observed::unknown(format!("{source}: not available"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use Level::{Passed, Severe, Unknown, Warning};

    #[test]
    fn the_highest_reached_threshold_determines_the_level() {
        let with = |value| {
            let shown = |value: f64| value.to_string();
            at_least(value, &[(5.0, Severe), (1.0, Warning)], "/file", shown)
        };
        assert_eq!(with(Some(5.0)), Observed::severe("/file: 5"));
        assert_eq!(with(Some(1.0)).level(), Warning);
        assert_eq!(with(Some(0.9)), Observed::passed("/file: 0.9"));
        assert_eq!(with(None), Observed::unknown("/file: not available"));
    }

    #[test]
    fn a_word_may_be_a_finding() {
        let with = |value| is_one_of(value, &[("always", Warning)], "/file");
        assert_eq!(with(Some("always")), Observed::warning("/file: always"));
        assert_eq!(with(Some("never")).level(), Passed);
        assert_eq!(with(None).level(), Unknown);
    }

    #[test]
    fn a_limit_must_be_enough_for_the_load() {
        let with = |needed| is_enough(10, needed, "/file: 10".into());
        assert_eq!(with(None), Observed::passed("/file: 10"));
        assert_eq!(with(Some(10)).level(), Passed);
        let short = Observed::severe("/file: 10; the load needs 11");
        assert_eq!(with(Some(11)), short.with("NEEDED", 11));
    }
}
