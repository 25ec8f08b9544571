//! Numbers as people read them.

use measure::compare::Change;
use measure::digits::apart;
use measure::interval::Estimate;
use measure::quantile::Range;
use measure::recovery::Observation;

pub(crate) const ABSENT: &str = "–";

/// A whole number with its thousands apart: `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    apart(&value.to_string())
}

/// `1 table`, `2 tables`.
pub(crate) fn counted(value: u64, noun: &str) -> String {
    let plural = if value == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", count(value))
}

/// A number with four significant digits, and all digits before the point.
pub(crate) fn value(value: f64) -> String {
    fixed(value, decimals(value))
}

/// The same with at most so many decimals.
pub(crate) fn value_to(value: f64, most: usize) -> String {
    fixed(value, decimals(value).min(most))
}

pub(crate) fn maybe(known: Option<f64>) -> String {
    known.map_or_else(|| ABSENT.to_owned(), value)
}

/// A number, or `> 40.00` of a time that was longer.
pub(crate) fn observation(one: Observation) -> String {
    observation_to(one, decimals(one.bound()))
}

fn observation_to(one: Observation, digits: usize) -> String {
    let longer = if one.is_censored() { "> " } else { "" };
    format!("{longer}{}", fixed(one.bound(), digits))
}

/// `1.588 (1.203–1.973)` or `1.588 (1.203–> 40.000)`: a median with the minimum and maximum.
pub(crate) fn observed_within(median: Observation, low: Observation, high: Observation) -> String {
    let digits = decimals(median.bound());
    let [median, low, high] = [median, low, high].map(|one| observation_to(one, digits));
    format!("{median} ({low}–{high})")
}

/// `1,010 ± 12`, the error with the digits of the value; without an interval only
/// the value.
pub(crate) fn estimate(estimate: Option<Estimate>) -> String {
    estimate_to(estimate, usize::MAX)
}

/// The same with at most so many decimals.
pub(crate) fn estimate_to(estimate: Option<Estimate>, most: usize) -> String {
    let Some(estimate) = estimate else {
        return ABSENT.to_owned();
    };
    let digits = decimals(estimate.value).min(most);
    let shown = fixed(estimate.value, digits);
    match estimate.half_width {
        Some(half) => format!("{shown} ± {}", fixed(half, digits)),
        None => shown,
    }
}

/// `17.22 (16.90–17.80)`: a number and where it lies with 95 % confidence.
pub(crate) fn within(value: f64, range: Option<Range>) -> String {
    let bounds = range.map(|range| [range.low, range.high].map(Observation::Exactly));
    bounds.map_or_else(
        || self::value(value),
        |[low, high]| observed_within(Observation::Exactly(value), low, high),
    )
}

/// `-4.69 % (-5.71 to -3.95)`: a change in per cent with its sign, and its interval; `unit`
/// follows the value.
pub(crate) fn change(Change { value, interval }: Change, unit: &str) -> String {
    let digits = decimals(value).min(2);
    let signed = |value: f64| {
        let plus = if value > 0.0 { "+" } else { "" };
        format!("{plus}{}", fixed(value, digits))
    };
    let shown = format!("{}{unit}", signed(value));
    match interval {
        Some(Range { low, high }) => format!("{shown} ({} to {})", signed(low), signed(high)),
        None => shown,
    }
}

/// A share as percent, with one decimal: `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1.2 % ± 0.3 %`.
pub(crate) fn share_percent(share: Estimate) -> String {
    let digits = digits(largest(share) * 100.0).saturating_sub(1);
    share_as(share, "0 %", |share| {
        format!("{:.digits$} %", share * 100.0)
    })
}

/// A share with three significant digits, since coherency is often far below 1.
pub(crate) fn share(share: Estimate) -> String {
    let digits = digits(largest(share));
    share_as(share, "0", |share| format!("{share:.digits$}"))
}

/// At its bound it has an upper end only.
fn share_as(share: Estimate, zero: &str, shown: impl Fn(f64) -> String) -> String {
    let value = shown(share.value);
    match share.half_width.map(shown) {
        Some(most) if share.value <= 0.0 => format!("{zero}, at most {most}"),
        Some(half) => format!("{value} ± {half}"),
        None => value,
    }
}

/// The value, or its half width where that is more: what has digits worth showing.
fn largest(share: Estimate) -> f64 {
    share.value.abs().max(share.half_width.unwrap_or(0.0))
}

/// Decimals that leave three digits of a number that are not 0.
fn digits(value: f64) -> usize {
    const MOST: f64 = 9.0;
    match value.abs() {
        size if size > 0.0 => (2.0 - size.log10().floor()).clamp(0.0, MOST) as usize,
        _ => 0,
    }
}

/// Seconds without needless decimals: `60 s`, `0.5 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    let decimals = if seconds < 1.0 { 3 } else { 1 };
    let text = format!("{seconds:.decimals$}");
    format!("{} s", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A stretch of time in the units that people use: `0.42 s`, `95 s`, `12 min`, `3.5 h`.
pub(crate) fn duration(seconds: f64) -> String {
    match seconds {
        short if short < 9.95 => format!("{short:.2} s"),
        middle if middle < 119.5 => format!("{middle:.0} s"),
        long if long < 7170.0 => format!("{:.0} min", long / 60.0),
        hours => format!("{:.1} h", hours / 3600.0),
    }
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        large if large >= 999.5 => 0,
        large if large >= 99.95 => 1,
        middle if middle >= 9.995 => 2,
        _ => 3,
    }
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, rest)) => format!("{}.{rest}", apart(whole)),
        None => apart(&text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_apart_and_few() {
        assert_eq!(count(1_234_567), "1,234,567");
        assert_eq!(count(999), "999");
        assert_eq!(value(0.123_456), "0.123");
        assert_eq!(value(15.84), "15.84");
        assert_eq!(value(20_200.4), "20,200");
        assert_eq!(value(-1234.0), "-1,234");
        assert_eq!(seconds(60.0), "60 s");
        assert_eq!(seconds(0.5), "0.5 s");
        assert_eq!([0.0, 0.02, 10.04].map(seconds), ["0 s", "0.02 s", "10 s"]);
        assert_eq!(
            [0.42, 95.0, 720.0, 12_600.0].map(duration),
            ["0.42 s", "95 s", "12 min", "3.5 h"]
        );
    }

    #[test]
    fn a_change_has_its_sign_and_its_interval() {
        let (low, high) = (-5.7, 0.951);
        let known = Change {
            value: -4.687,
            interval: Some(Range { low, high }),
        };
        assert_eq!(change(known, " %"), "-4.69 % (-5.70 to +0.95)");
        let (value, interval) = (134.21, None);
        assert_eq!(change(Change { value, interval }, ""), "+134.2");
    }

    #[test]
    fn an_error_has_the_digits_of_its_value() {
        let of = |value, half_width| Some(Estimate { value, half_width });
        assert_eq!(estimate(of(1010.4, Some(12.34))), "1,010 ± 12");
        assert_eq!(estimate_to(of(7.9, Some(0.25)), 1), "7.9 ± 0.2");
        assert_eq!(estimate(of(1010.4, None)), "1,010");
        assert_eq!(estimate(None), ABSENT);
        let (low, high) = (16.9, 17.804);
        assert_eq!(
            within(17.221, Some(Range { low, high })),
            "17.22 (16.90–17.80)"
        );
        assert_eq!(within(17.221, None), "17.22");
    }

    #[test]
    fn small_shares_keep_their_digits() {
        let of = |value, half| Estimate {
            value,
            half_width: half,
        };
        assert_eq!(
            share(of(1.043_65e-4, Some(5.518e-5))),
            "0.000104 ± 0.000055"
        );
        assert_eq!(share_percent(of(0.027_728, Some(0.0253))), "2.8 % ± 2.5 %");
        assert_eq!(share_percent(of(1.04e-4, None)), "0.010 %");
        let none = of(1e-14, Some(2.397_886e-4));
        assert_eq!(share(none), "0.000000 ± 0.000240");
        assert_eq!(share_percent(none), "0.000 % ± 0.024 %");
        assert_eq!(
            (share(of(0.0, None)), share_percent(of(0.0, None))),
            ("0".into(), "0 %".into())
        );
    }
}
