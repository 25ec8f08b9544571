//! Numbers as people read them.

use measure::interval::Estimate;

/// Shown where nothing was measured.
pub(crate) const ABSENT: &str = "–";

/// A whole number with its thousands apart: `1,234,567`.
pub(crate) fn count(value: u64) -> String {
    apart(&value.to_string())
}

/// A number with four significant digits, and all digits before the point.
pub(crate) fn value(value: f64) -> String {
    fixed(value, decimals(value))
}

/// A number, or a dash.
pub(crate) fn maybe(value_: Option<f64>) -> String {
    value_.map_or_else(|| ABSENT.to_owned(), value)
}

/// `1,010 ± 12`, the error with the digits of the value; without an interval only
/// the value.
pub(crate) fn estimate(estimate: Option<Estimate>) -> String {
    let Some(estimate) = estimate else {
        return ABSENT.to_owned();
    };
    let digits = decimals(estimate.value);
    let shown = fixed(estimate.value, digits);
    match estimate.half_width {
        Some(half) => format!("{shown} ± {}", fixed(half, digits)),
        None => shown,
    }
}

/// A share as percent, with one decimal: `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// Seconds without needless decimals: `60 s`, `0.5 s`.
pub(crate) fn seconds(seconds: f64) -> String {
    let text = format!("{seconds:.1}");
    format!("{} s", text.strip_suffix(".0").unwrap_or(&text))
}

/// Bytes in the largest binary unit.
pub(crate) fn bytes(bytes: u64) -> String {
    let gib = bytes as f64 / f64::from(1 << 30);
    format!("{gib:.1} GiB")
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

fn apart(digits: &str) -> String {
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits), |rest| ("-", rest));
    let mut text = sign.to_owned();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    text
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
    }

    #[test]
    fn an_error_has_the_digits_of_its_value() {
        let known = Estimate {
            value: 1010.4,
            half_width: Some(12.34),
        };
        assert_eq!(estimate(Some(known)), "1,010 ± 12");
        let unknown = Estimate {
            half_width: None,
            ..known
        };
        assert_eq!(estimate(Some(unknown)), "1,010");
        assert_eq!(estimate(None), ABSENT);
    }
}
