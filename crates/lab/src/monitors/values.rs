//! Numbers from counters, and the metrics that they make.

use std::collections::BTreeMap;

/// The metrics of one stretch of time by name. What is not known, or no number, is
/// left out.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Values(pub(super) BTreeMap<String, f64>);

impl Values {
    pub(super) fn put(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.insert(name.into(), value);
        }
    }
}

/// How much a counter has grown; `None` when it was set back in between.
pub(super) fn growth(before: u64, after: u64) -> Option<f64> {
    after.checked_sub(before).map(|grown| grown as f64)
}

/// A part of a whole; `None` of nothing.
pub(super) fn quotient(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// As [`quotient`], in %.
pub(super) fn percent(part: f64, whole: f64) -> Option<f64> {
    quotient(100.0 * part, whole)
}

/// Adds what is known of both.
pub(super) fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one + other),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_left_out() {
        let mut values = Values::default();
        values.put("none", None);
        values.put("infinite", Some(1.0 / 0.0));
        values.put("zero", Some(0.0));
        assert_eq!(values.0.keys().collect::<Vec<_>>(), ["zero"]);
    }

    #[test]
    fn a_counter_that_was_set_back_has_no_growth() {
        assert_eq!(growth(5, 7), Some(2.0));
        assert_eq!(growth(7, 5), None);
        assert_eq!(quotient(1.0, 0.0), None);
        assert_eq!(sum(Some(1.0), None), Some(1.0));
        assert_eq!(sum(None, None), None);
    }
}
