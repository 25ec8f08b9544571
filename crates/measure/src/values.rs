//! Metrics from counters.

use std::collections::BTreeMap;

/// The metrics of one interval by name. Unknown values are left out.
#[derive(Debug, Default, PartialEq)]
pub struct Values(pub BTreeMap<String, f64>);

impl Values {
    /// Ignores unknown values and those that are not numbers.
    pub fn put(&mut self, name: impl Into<String>, value: Option<f64>) {
        if let Some(value) = value.filter(|value| value.is_finite()) {
            self.0.insert(name.into(), value);
        }
    }
}

/// `None` if the counter was reset in between.
pub fn growth(before: u64, after: u64) -> Option<f64> {
    after.checked_sub(before).map(|grown| grown as f64)
}

/// `None` if `whole` is 0.
pub fn quotient(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| part / whole)
}

/// Like [`quotient`], in %.
pub fn percent(part: f64, whole: f64) -> Option<f64> {
    quotient(100.0 * part, whole)
}

/// The sum of the known values.
pub fn sum(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    both(one, other, |one, other| one + other)
}

/// Two values combined, or the one that is known.
pub(crate) fn both<T>(one: Option<T>, other: Option<T>, of: impl Fn(T, T) -> T) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(of(one, other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_are_kept() {
        let mut values = Values::default();
        values.put("none", None);
        values.put("infinite", Some(1.0 / 0.0));
        values.put("zero", Some(0.0));
        assert_eq!(values.0.keys().collect::<Vec<_>>(), ["zero"]);
    }

    #[test]
    fn a_counter_that_was_reset_has_no_growth() {
        assert_eq!(growth(5, 7), Some(2.0));
        assert_eq!(growth(7, 5), None);
        assert_eq!(quotient(1.0, 0.0), None);
        assert_eq!(sum(Some(1.0), None), Some(1.0));
        assert_eq!(sum(None, None), None);
    }
}
