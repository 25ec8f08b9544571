//! Values of settings, as PostgreSQL reads them.

use crate::settings::Settings;

/// The unit of `shared_buffers`.
pub(super) const PAGE_BYTES: u64 = 8192;
/// The unit of `max_wal_size`.
pub(super) const MEGABYTE: u64 = 1 << 20;
/// The longest suffixes first.
const UNITS: [(&str, u64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", MEGABYTE),
    ("kB", 1 << 10),
    ("B", 1),
];
/// In milliseconds, the longest suffixes first.
const TIMES: [(&str, f64); 6] = [
    ("min", 60_000.0),
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];
/// Words in names of settings whose values may be secrets; commands may contain any secret.
const SECRET_WORDS: [&str; 8] = [
    "conninfo",
    "_command",
    "password",
    "passphrase",
    "secret",
    "token",
    "credential",
    "private",
];

/// The value of a setting; the last one counts if there are several.
pub(super) fn value_of<'a>(config: &'a Settings, name: &str) -> Option<&'a str> {
    let mut values = config.iter().rev();
    let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A size in bytes: a number with a unit, or one that counts in `unit_bytes`.
pub(super) fn bytes(value: &str, unit_bytes: u64) -> Option<u64> {
    let value = value.trim();
    let units = UNITS.iter();
    let with_unit = units
        .filter_map(|(unit, bytes)| Some((value.strip_suffix(unit)?, *bytes)))
        .next();
    let (number, unit_bytes) = with_unit.unwrap_or((value, unit_bytes));
    number.trim().parse::<u64>().ok()?.checked_mul(unit_bytes)
}

/// A time in milliseconds: a number with a unit, or one that counts in `unit_ms`. -1 means none.
pub(super) fn ms(value: &str, unit_ms: f64) -> Option<f64> {
    let value = value.trim();
    let mut units = TIMES.iter();
    let with_unit = units.find_map(|(unit, ms)| Some((value.strip_suffix(unit)?, *ms)));
    let (number, unit_ms) = with_unit.unwrap_or((value, unit_ms));
    let number: f64 = number.trim().parse().ok()?;
    number.is_finite().then_some(number * unit_ms)
}

/// A size among the settings of a study, in bytes.
pub(super) fn size(config: &Settings, name: &str, unit_bytes: u64) -> Option<u64> {
    bytes(value_of(config, name)?, unit_bytes)
}

pub(super) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

pub(super) fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && SECRET_WORDS.iter().any(|word| name.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_postgresqls_units() {
        assert_eq!(ms("5min", 1000.0), Some(300_000.0));
        assert_eq!(ms(" 1.5 s", 1.0), Some(1500.0));
        assert_eq!(ms("30", 1000.0), Some(30_000.0));
        assert_eq!(ms("-1", 1.0), Some(-1.0));
        for bad in ["", "s", "5 years", "nan", "inf"] {
            assert_eq!(ms(bad, 1.0), None, "{bad}");
        }
    }

    #[test]
    fn sizes_have_postgresqls_units() {
        assert_eq!(bytes("128MB", PAGE_BYTES), Some(128 << 20));
        assert_eq!(bytes(" 4 kB", PAGE_BYTES), Some(4096));
        assert_eq!(bytes("16384", PAGE_BYTES), Some(128 << 20));
        for bad in ["", "MB", "1.5GB", "-1", "1M", "99999999TB"] {
            assert_eq!(bytes(bad, 1), None, "{bad}");
        }
    }
}
