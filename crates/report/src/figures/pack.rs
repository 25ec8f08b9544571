//! Numbers as small as a figure needs them.

use serde::Serialize;

/// A column of numbers as whole ones, each to be divided by ten to the power of the
/// first field; the largest has four digits, which is more than a figure can show.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Packed {
    /// The same value so many times, as counters have it of what never happens.
    Same(i32, i64, usize),
    Each(i32, Vec<Option<i64>>),
}

impl Packed {
    pub(crate) fn of(values: &[Option<f64>]) -> Self {
        const MOST_DECIMALS: i32 = 9;
        let sizes = values.iter().flatten().map(|value| value.abs());
        let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
        let decimals = match largest > 0.0 {
            true => (3 - largest.log10().floor() as i32).min(MOST_DECIMALS),
            false => 0,
        };
        Self::with(decimals, values)
    }

    /// Times in seconds, to a millisecond if they need it.
    pub(crate) fn times(values: &[Option<f64>]) -> Self {
        let on_the_second = |value: &f64| (value - value.round()).abs() < 5e-4;
        let whole = values.iter().flatten().all(on_the_second);
        Self::with(if whole { 0 } else { 3 }, values)
    }

    fn with(decimals: i32, values: &[Option<f64>]) -> Self {
        let factor = 10_f64.powi(decimals);
        let whole = |value: &Option<f64>| {
            let value = value.filter(|value| value.is_finite())?;
            Some((value * factor).round() as i64)
        };
        let each: Vec<Option<i64>> = values.iter().map(whole).collect();
        match each.split_first() {
            Some((Some(first), rest)) if rest.iter().all(|value| *value == Some(*first)) => {
                Self::Same(decimals, *first, values.len())
            }
            _ => Self::Each(decimals, each),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_digits_are_kept_and_the_absent_stays_absent() {
        let json = |values: &[Option<f64>]| serde_json::to_string(&Packed::of(values)).unwrap();
        assert_eq!(
            json(&[Some(12.3456), None, Some(0.5)]),
            "[2,[1235,null,50]]"
        );
        assert_eq!(json(&[Some(5_702.4), Some(0.0)]), "[0,[5702,0]]");
        assert_eq!(json(&[Some(4.2e9), Some(1e6)]), "[-6,[4200,1]]");
        assert_eq!(json(&[Some(0.0), Some(0.0)]), "[0,0,2]");
        assert_eq!(
            json(&[Some(f64::NAN), Some(f64::INFINITY)]),
            "[0,[null,null]]"
        );
        assert_eq!(json(&[]), "[0,[]]");
    }
}
