//! Writes a fault as a study has it.

use plan::{ActsOn, Fault, FaultTarget, format_percent};
use serde_json::{Value as Json, json};

/// A fault as `[[fault]]`, to be pasted into a study file. It ends with a line break.
pub fn fault_toml(fault: &Fault) -> String {
    let Ok(Json::Object(mut fields)) = serde_json::to_value(fault) else {
        return String::new();
    };
    let (kind, options) = (fault.kind, &fault.options);
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
