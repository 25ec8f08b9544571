//! Two studies as one: what they have in common, and a variant for what each has of its own.

use crate::content::{Content, Entry, TypedFault};
use crate::fault_toml::fault_toml;
use crate::point::{self, Defaults};
use crate::value_toml::{list, quoted, value_toml};
use plan::key::{FAULT, Key, SWEEP};

/// The variant of the study that the other one is compared with.
pub const BASE: &str = "base";
/// The variant of the other study.
pub const NEW: &str = "new";
/// The sections in which variants may differ. The others are the work and the points.
const MAY_DIFFER: [&str; 5] = ["server", "site", "volume", "log_volume", "topology"];
/// What concerns a study rather than its trials, beside its report: the pair has its own.
const OF_ONE_STUDY: [&str; 5] = [
    "title",
    "description",
    "load.repeats",
    "load.order",
    "load.order_seed",
];

/// What two studies must have in common, but do not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unlike {
    pub key: String,
    /// As TOML; `None` where it is not set.
    pub values: [Option<String>; 2],
}

/// What a study has, as a line of TOML.
struct Line {
    name: String,
    /// `None` for what is in no variant.
    key: Option<&'static Key>,
    value: String,
}

/// The text of the study of both; `None` if nothing differs.
pub(crate) fn text(
    sides: [&Content; 2],
    title: &str,
    compare: &str,
) -> Result<Option<String>, Unlike> {
    let defaults = point::defaults();
    let given = sides.map(lines);
    let mut text = format!("title = {}\n", quoted(title));
    let mut own = [BASE, NEW].map(|name| format!("\n[[variant]]\nname = {}\n", quoted(name)));
    let empty = own.clone();
    let mut done: Vec<&str> = Vec::new();
    let mut lines: Vec<&Line> = given.iter().flatten().collect();
    // A key that only one of both sweeps is found as an axis.
    lines.sort_by_key(|line| line.key.is_some());
    for line in lines {
        if done.contains(&line.name.as_str()) {
            continue;
        }
        done.push(&line.name);
        let both = given.each_ref().map(|side| {
            let mut lines = side.iter();
            lines.find(|other| other.name == line.name)
        });
        let values = both.map(|of| value(of, line, &defaults));
        if values[0] == values[1] {
            text += &written(line);
        } else if line.key.is_some_and(may_differ) {
            for (own, line) in own.iter_mut().zip(both) {
                *own += &line.map(written).unwrap_or_default();
            }
        } else {
            let key = line.name.clone();
            return Err(Unlike { key, values });
        }
    }
    let faults = sides.map(|side| side.faults.iter().map(fault).collect::<String>());
    if faults[0] != faults[1] {
        let key = FAULT.to_owned();
        let values = faults.map(|text| (!text.is_empty()).then_some(text));
        return Err(Unlike { key, values });
    }
    let [faults, _] = faults;
    let [base, new] = &own;
    let all = format!("{text}\n[compare]\n{compare}{faults}{base}{new}");
    Ok((own != empty).then_some(all))
}

/// What describes the trials of a study: its keys in the order of the file, and its axes.
fn lines(content: &Content) -> Vec<Line> {
    let entries = content.common.entries.values();
    let is_of_trials = |entry: &&Entry| {
        let key = entry.name.key;
        !OF_ONE_STUDY.contains(&key.name) && key.section() != "report"
    };
    let mut entries: Vec<&Entry> = entries.filter(is_of_trials).collect();
    entries.sort_by_key(|entry| entry.at);
    let entries = entries.into_iter().filter_map(|entry| {
        Some(Line {
            name: entry.name.full().to_owned(),
            key: Some(entry.name.key),
            value: toml(entry)?,
        })
    });
    let axes = content.common.axes.iter().map(|axis| Line {
        name: format!("{SWEEP}.{}", quoted(axis.name.full())),
        key: None,
        value: list(axis.values.iter().filter_map(toml)),
    });
    entries.chain(axes).collect()
}

fn toml(entry: &Entry) -> Option<String> {
    let value = &entry.value.as_ref()?.value;
    Some(value_toml(&entry.name.key.kind, value))
}

/// The value of a side's line, or the default if it has no such line.
fn value(of: Option<&Line>, line: &Line, defaults: &Defaults) -> Option<String> {
    let default = || {
        let key = line.key?;
        Some(value_toml(&key.kind, &defaults.get(key.name)?.value))
    };
    of.map(|line| line.value.clone()).or_else(default)
}

fn may_differ(key: &Key) -> bool {
    key.axis && MAY_DIFFER.contains(&key.section())
}

fn written(line: &Line) -> String {
    format!("{} = {}\n", line.name, line.value)
}

/// Without a seed that is yet to be drawn.
fn fault(typed: &TypedFault) -> String {
    let text = fault_toml(&typed.fault);
    let mut text = text.split_inclusive('\n').collect::<Vec<_>>();
    text.retain(|line| typed.has_seed || !line.starts_with("seed = "));
    format!("\n{}", text.concat())
}
