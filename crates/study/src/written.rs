//! Writes values and faults as they stand in a study.

use std::fmt::Write;

use serde_json::{Value as Json, json};

use crate::read::BETWEEN_PATHS;
use plan::key::Kind;
use plan::{ActsOn, Chaos, Fault, FaultTarget, Value, format_duration, format_percent};

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

/// A fault as `[[fault]]`, to be pasted into a study file. It ends with a line break.
pub fn fault_toml(fault: &Fault) -> String {
    let Ok(Json::Object(mut fields)) = serde_json::to_value(fault) else {
        return String::new();
    };
    let (kind, options) = (fault.kind(), fault.action.options());
    let loss = options.link.loss;
    let seed = match fault.target {
        FaultTarget::Any(seed) => Some(seed),
        _ => loss.map(|loss| loss.seed),
    };
    let with: Vec<_> = options.with.iter().copied().map(named).collect();
    let is_never = fault.heal.is_none() && (kind.lasts() || !options.heal_command.is_empty());
    let others = [
        ("seed", seed.map(Json::from)),
        ("with", (!with.is_empty()).then(|| with.into())),
        ("bridge", options.bridge.map(named)),
        ("loss", loss.map(|loss| format_percent(loss.share).into())),
        ("heal", is_never.then(|| "never".into())),
        ("target", Some(named(fault.target))),
    ];
    for (name, value) in others {
        fields.extend(value.map(|value| (name.to_owned(), value)));
    }
    let is_command = kind.rules().acts_on == ActsOn::Anything;
    let what = if is_command { "command" } else { "target" };
    let first = [("at", "at"), (kind.name(), what)];
    let mut text = "[[fault]]\n".to_owned();
    // JSON and TOML write texts, numbers, and lists alike.
    for (name, field) in first {
        let value = fields.remove(field).unwrap_or_default();
        text.push_str(&format!("{name} = {value}\n"));
    }
    fields.remove("kind");
    fields.retain(|_, value| !value.is_null() && *value != Json::Bool(false));
    for (name, value) in fields {
        text.push_str(&format!("{name} = {value}\n"));
    }
    text
}

/// The word or number that a study has for a target.
fn named(target: FaultTarget) -> Json {
    match target {
        FaultTarget::Server(number) => number.into(),
        FaultTarget::Any(_) => "any".into(),
        other => json!(other),
    }
}
