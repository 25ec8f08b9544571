//! Durations as people write them: `500ms`, `30s`, `2h30m`.

use std::fmt;
use std::time::Duration;

/// Each unit's name, its nanoseconds, and the words that users write for it. The largest is first,
/// because a duration is written from the left.
#[rustfmt::skip] // A line for each.
const UNITS: [(&str, u64, &str); 6] = [
    ("d", 86_400_000_000_000, "d day days"),
    ("h", 3_600_000_000_000, "h hr hrs hour hours"),
    ("m", 60_000_000_000, "m min mins minute minutes"),
    ("s", 1_000_000_000, "s sec secs second seconds"),
    ("ms", 1_000_000, "ms msec msecs milli millis millisecond milliseconds"),
    ("us", 1_000, "µs μs usec usecs microsecond microseconds"),
];

/// Why a text is not a value of its kind, and what to write instead.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextError {
    pub message: String,
    pub help: String,
}

impl TextError {
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: help.into(),
        }
    }
}

impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}; {}", self.message, self.help)
    }
}

impl std::error::Error for TextError {}

/// Reads `30s`, `5m`, `1h`, `500ms` or a sum of them such as `2h30m`.
pub fn parse_duration(text: &str) -> Result<Duration, TextError> {
    let shown = crate::suggest::shown(text);
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(TextError::new(
            "the duration is empty",
            "write for example `30s`",
        ));
    }
    let mut total_ns: u64 = 0;
    let mut smallest_ns = u64::MAX;
    while !rest.is_empty() {
        let (number, after) = split_while(rest, |c| c.is_ascii_digit());
        if number.is_empty() {
            return Err(no_number(&shown, rest));
        }
        let (unit, after) = split_while(after, |c| c.is_alphabetic() || c == 'µ');
        let unit_ns = unit_ns(unit).ok_or_else(|| bad_unit(&shown, number, unit, after))?;
        if unit_ns >= smallest_ns {
            return Err(TextError::new(
                format!("the parts of `{shown}` are out of order"),
                "write each unit once, the largest first: `2h30m`",
            ));
        }
        smallest_ns = unit_ns;
        total_ns = number
            .parse::<u64>()
            .ok()
            .and_then(|n| n.checked_mul(unit_ns))
            .and_then(|part_ns| total_ns.checked_add(part_ns))
            .ok_or_else(|| {
                let message = format!("`{shown}` is too long");
                TextError::new(message, "the limit is 584 years")
            })?;
        rest = after;
    }
    Ok(Duration::from_nanos(total_ns))
}

fn split_while(text: &str, keep: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !keep(c)).unwrap_or(text.len()))
}

/// Nanoseconds of a unit of time, such as `ms`.
pub fn unit_ns(name: &str) -> Option<u64> {
    let unit = UNITS.iter().find(|(unit, ..)| *unit == name);
    unit.map(|(_, ns, _)| *ns)
}

fn no_number(shown: &str, rest: &str) -> TextError {
    let message = format!("`{shown}` is not a duration");
    let help = match rest.chars().next() {
        Some('-') => "a duration cannot be negative; write for example `30s`",
        Some(c) if c.is_whitespace() => "write the parts without spaces: `2h30m`",
        _ => "write a number and a unit, for example `500ms`, `30s`, `5m` or `2h30m`",
    };
    TextError::new(message, help)
}

fn bad_unit(shown: &str, number: &str, unit: &str, after: &str) -> TextError {
    if unit.is_empty() && after.starts_with('.') {
        return TextError::new(
            format!("`{shown}` has a fraction"),
            "write whole numbers with a smaller unit: `1s500ms`, not `1.5s`",
        );
    }
    if unit.is_empty() && after.starts_with(char::is_whitespace) {
        return TextError::new(
            format!("`{shown}` has a space"),
            "write the number and its unit together: `30s`",
        );
    }
    let number = crate::suggest::shown(number);
    if unit.is_empty() {
        return TextError::new(
            format!("`{shown}` has no unit"),
            format!(
                "write `{number}s` for seconds, `{number}m` for minutes, `{number}h` for hours"
            ),
        );
    }
    let unit_shown = crate::suggest::shown(unit);
    let message = format!("`{unit_shown}` in `{shown}` is not a unit of time");
    match likely_unit(&unit.to_lowercase()) {
        Some(better) => TextError::new(message, format!("write `{number}{better}`")),
        None => TextError::new(message, "the units are `us`, `ms`, `s`, `m`, `h` and `d`"),
    }
}

/// The unit that a longer word stands for. `M` is not read as `m`, because it may mean months.
fn likely_unit(word: &str) -> Option<&'static str> {
    let mut units = UNITS.iter();
    let unit = units.find(|(.., words)| words.split(' ').any(|known| known == word));
    unit.map(|(name, ..)| *name)
}

/// Formats a duration so that [`parse_duration`] reads it: `1m30s`. Digits below a microsecond are
/// dropped.
pub fn format_duration(duration: Duration) -> String {
    let mut rest_ns = duration.as_nanos();
    let mut text = String::new();
    for (name, unit_ns, _) in UNITS {
        let count = rest_ns / u128::from(unit_ns);
        rest_ns %= u128::from(unit_ns);
        if count > 0 {
            text.push_str(&format!("{count}{name}"));
        }
    }
    if text.is_empty() { "0s".into() } else { text }
}

pub(crate) mod text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Duration,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&super::format_duration(*duration))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Duration, D::Error> {
        let text = String::deserialize(deserializer)?;
        super::parse_duration(&text).map_err(D::Error::custom)
    }
}

/// Serializes a duration that may be missing as text.
pub(crate) mod optional_text {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(
        duration: &Option<Duration>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        duration.map(super::format_duration).serialize(serializer)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(deserializer)?;
        let duration = text.map(|text| super::parse_duration(&text)).transpose();
        duration.map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes() {
        for (text, ms) in [
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h", 3_600_000),
            ("500ms", 500),
            ("2h30m", 9_000_000),
            ("0s", 0),
            ("1d1ms", 86_400_001),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(ms)),
                "{text}"
            );
            assert_eq!(format_duration(Duration::from_millis(ms)), text);
        }
        assert_eq!(format_duration(Duration::from_secs(90)), "1m30s");
    }

    #[test]
    fn teaches() {
        for (text, said) in [
            ("", "the duration is empty; write for example `30s`"),
            (
                "30",
                "`30` has no unit; write `30s` for seconds, `30m` for minutes, `30h` for hours",
            ),
            (
                "30sec",
                "`sec` in `30sec` is not a unit of time; write `30s`",
            ),
            (
                "3 s",
                "`3 s` has a space; write the number and its unit together: `30s`",
            ),
            (
                "1.5s",
                "`1.5s` has a fraction; write whole numbers with a smaller unit: `1s500ms`, not `1.5s`",
            ),
            (
                "30m2h",
                "the parts of `30m2h` are out of order; write each unit once, the largest first: `2h30m`",
            ),
            (
                "2h 30m",
                "`2h 30m` is not a duration; write the parts without spaces: `2h30m`",
            ),
            (
                "-5s",
                "`-5s` is not a duration; a duration cannot be negative; write for example `30s`",
            ),
            (
                "5w",
                "`w` in `5w` is not a unit of time; the units are `us`, `ms`, `s`, `m`, `h` and `d`",
            ),
            (
                "99999999999h",
                "`99999999999h` is too long; the limit is 584 years",
            ),
        ] {
            assert_eq!(parse_duration(text).unwrap_err().to_string(), said);
        }
    }
}
