//! Shares as people write them: `2%`.

/// Reads `2%` or `2.5 %` as a share (0.02, 0.025). `None` without the sign, or if it is not a
/// finite number.
pub fn parse_percent(text: &str) -> Option<f64> {
    let number = text.trim().strip_suffix('%')?.trim_end();
    let percent: f64 = number.parse().ok()?;
    percent.is_finite().then_some(percent / 100.0)
}

/// Writes a share the way [`parse_percent`] reads it, with at most six decimals.
pub fn format_percent(share: f64) -> String {
    let digits = format!("{:.6}", share * 100.0);
    format!("{}%", digits.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes() {
        for (text, share) in [("2%", 0.02), ("7%", 0.07), ("0.1%", 0.001), ("50%", 0.5)] {
            assert_eq!(parse_percent(text), Some(share));
            assert_eq!(format_percent(share), text);
        }
        assert_eq!(parse_percent(" 2.5 % "), Some(0.025));
        for bad in ["", "2", "%", "x%", "inf%", "NaN%"] {
            assert_eq!(parse_percent(bad), None, "{bad}");
        }
    }
}
