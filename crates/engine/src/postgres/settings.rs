//! Values of settings, as PostgreSQL reads them.

use crate::server::Settings;

/// The unit of `shared_buffers`.
pub(super) const PAGE_BYTES: u64 = 8192;
/// The unit of `max_wal_size`.
pub(super) const MEGABYTE: u64 = 1 << 20;
/// Units, the longest first.
const UNITS: [(&str, u64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", MEGABYTE),
    ("kB", 1 << 10),
    ("B", 1),
];
/// Words in the names of settings whose values may be secrets.
const SECRET_WORDS: [&str; 7] = [
    "password",
    "passphrase",
    "secret",
    "token",
    "credential",
    "private",
    "conninfo",
];

/// A setting's value: of several the last one counts.
pub(super) fn value_of<'a>(config: &'a Settings, name: &str) -> Option<&'a str> {
    let mut values = config.iter().rev();
    let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A size: a number with a unit, or of `unit_bytes` each.
pub(super) fn bytes(value: &str, unit_bytes: u64) -> Option<u64> {
    let value = value.trim();
    let units = UNITS.iter();
    let with_unit = units
        .filter_map(|(unit, bytes)| Some((value.strip_suffix(unit)?, *bytes)))
        .next();
    let (number, unit_bytes) = with_unit.unwrap_or((value, unit_bytes));
    number.trim().parse::<u64>().ok()?.checked_mul(unit_bytes)
}

/// A size among the settings of a study.
pub(super) fn size(config: &Settings, name: &str, unit_bytes: u64) -> Option<u64> {
    bytes(value_of(config, name)?, unit_bytes)
}

/// A switch.
pub(super) fn switch(value: &str) -> Option<bool> {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => Some(true),
        "off" | "false" | "no" | "0" => Some(false),
        _ => None,
    }
}

/// Whether a value may be a secret, by the setting's name.
pub(super) fn is_secret(name: &str, value: &str) -> bool {
    !value.is_empty() && SECRET_WORDS.iter().any(|word| name.contains(word))
}

/// The settings that a study makes, by the server's names.
pub(super) fn chosen(config: &Settings) -> Vec<(String, String)> {
    let chosen = config.iter();
    chosen
        .map(|(name, value)| (name.to_ascii_lowercase(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
