//! Writes values as they stand in a study.

use std::fmt::Write;

use crate::read::BETWEEN_PATHS;
use plan::key::Kind;
use plan::{Chaos, Value, format_duration, format_percent};

/// A value of a key of this kind, as TOML.
pub fn value_toml(kind: &Kind, value: &Value) -> String {
    match (kind, value) {
        (Kind::Percent { .. }, Value::Number(share)) => quoted(&format_percent(*share)),
        (Kind::Paths, Value::Text(paths)) => list(paths.split(BETWEEN_PATHS).map(quoted)),
        (Kind::Faults, Value::Text(kinds)) if kinds != Chaos::ANY => {
            list(kinds.split(", ").map(quoted))
        }
        (_, Value::Number(number)) => format!("{number:?}"),
        (_, Value::Duration(duration)) => quoted(&format_duration(*duration)),
        (_, Value::Boolean(_) | Value::Integer(_)) => value.to_string(),
        (_, Value::Text(_) | Value::Url(_)) => quoted(&value.to_string()),
    }
}

pub(crate) fn list(values: impl Iterator<Item = String>) -> String {
    format!("[{}]", values.collect::<Vec<_>>().join(", "))
}

/// A text as a TOML string on one line.
pub fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            c if c.is_control() => {
                let _ = write!(quoted, "\\u{:04X}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
