//! Values with units, as the server writes and reads them.

const MEMORY: [(&str, u64); 5] = [
    ("B", 1),
    ("kB", 1 << 10),
    ("MB", 1 << 20),
    ("GB", 1 << 30),
    ("TB", 1 << 40),
];
/// In milliseconds; microseconds are fractions.
const TIME: [(&str, f64); 6] = [
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1000.0),
    ("min", 60_000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];

/// A size in bytes; one without a unit counts in `unit` bytes.
pub(super) fn bytes(text: &str, unit: u64) -> Option<u64> {
    let (number, suffix) = split(text)?;
    let unit = match suffix {
        "" => unit,
        suffix => MEMORY.iter().find(|(name, _)| *name == suffix)?.1,
    };
    let bytes = number * unit as f64;
    (0.0..u64::MAX as f64)
        .contains(&bytes)
        .then_some(bytes as u64)
}

/// A time in milliseconds; one without a unit counts in `unit` milliseconds. Negative values
/// mean that there is no limit, or none of its own.
pub(super) fn ms(text: &str, unit: f64) -> Option<f64> {
    let (number, suffix) = split(text)?;
    let unit = match suffix {
        "" => unit,
        suffix => TIME.iter().find(|(name, _)| *name == suffix)?.1,
    };
    Some(number * unit)
}

/// A number and its unit.
fn split(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| c.is_ascii_alphabetic());
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let number: f64 = number.trim().parse().ok()?;
    number.is_finite().then_some((number, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        assert_eq!(bytes("128MB", 8192), Some(128 << 20));
        assert_eq!(bytes("16384", 8192), Some(128 << 20));
        assert_eq!(bytes(" 1.5 GB ", 8192), Some(3 << 29));
        for wrong in ["", "MB", "1mb", "1XB", "-1", "nan", "inf", "1e300TB"] {
            assert_eq!(bytes(wrong, 8192), None, "{wrong}");
        }
    }

    #[test]
    fn times() {
        assert_eq!(ms("5min", 1000.0), Some(300_000.0));
        assert_eq!(ms("30", 1000.0), Some(30_000.0));
        assert_eq!(ms("-1", 1.0), Some(-1.0));
        assert_eq!(ms("500us", 1.0), Some(0.5));
        assert_eq!(ms("5 years", 1.0), None);
    }
}
