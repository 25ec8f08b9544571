//! The keys in which trials differ, their values in order, and what they are called.

use measure::result::{RunResult, Table};
use measure::summary::TrialSummary;
use plan::{Point, Value};

use crate::cell::Cell;
use crate::list::{around, distinct, joined, joined_any};
use crate::number::ABSENT;

pub(crate) use plan::key::VARIANT;

/// The keys in which trials differ: those that were planned, then any other.
pub(crate) fn axes(result: &RunResult) -> Vec<&str> {
    let trials = result.trials.iter();
    let varied = trials.flat_map(|trial| trial.setup.planned.point.keys());
    distinct(result.design.axes.iter().chain(varied).map(String::as_str))
}

pub(crate) fn others<'a>(axes: &[&'a str], key: &str) -> Vec<&'a str> {
    axes.iter().copied().filter(|other| *other != key).collect()
}

pub(crate) fn trials_of(result: &RunResult) -> Vec<&TrialSummary> {
    result.trials.iter().collect()
}

/// The last part of a dotted key, or all of it where two keys end alike.
pub(crate) fn short<'a>(key: &'a str, axes: &[&str]) -> &'a str {
    let name = key.rsplit('.').next().unwrap_or(key);
    let alike = axes
        .iter()
        .filter(|other| other.rsplit('.').next() == Some(name));
    if alike.count() > 1 { key } else { name }
}

/// A trial's value of a key; `None` if its study does not vary the key.
pub(crate) fn value<'a>(trial: &'a TrialSummary, key: &str) -> Option<&'a Value> {
    trial.setup.planned.point.get(key)
}

pub(crate) fn shown(value: Option<&Value>) -> String {
    value.map_or(ABSENT.to_owned(), Value::to_string)
}

pub(crate) fn variant(trial: &TrialSummary) -> Option<&str> {
    trial.setup.planned.variant()
}

/// The names of a study's variants; empty without any.
pub fn variants(result: &RunResult) -> Vec<&str> {
    let values = values(&trials_of(result), VARIANT).into_iter();
    values.filter_map(|name| name?.as_text()).collect()
}

/// All values of a key: by size if each is a number, a size or a duration, else in the order of
/// the study.
pub(crate) fn values<'a>(trials: &[&'a TrialSummary], key: &str) -> Vec<Option<&'a Value>> {
    let mut values = distinct(trials.iter().map(|trial| value(trial, key)));
    let size = |value: &Option<&Value>| value.and_then(quantity);
    if values.iter().all(|value| size(value).is_some()) {
        let size = |value: &Option<&Value>| size(value).unwrap_or(f64::NAN);
        values.sort_by(|a, b| size(a).total_cmp(&size(b)));
    } else {
        values.sort_by_cached_key(|wanted| {
            let having = having(trials, key, *wanted).into_iter();
            having.map(|trial| trial.setup.planned.place).min()
        });
    }
    values
}

/// The key that results are best shown against: that of the rows of the first table,
/// else the one with most values, the last of several. `None` when none has two.
pub(crate) fn main<'a>(
    tables: &'a [Table],
    trials: &[&TrialSummary],
    axes: &[&'a str],
) -> Option<&'a str> {
    let count = |key: &str| values(trials, key).len();
    let rows = tables.first().map(|table| table.rows.as_str());
    if let Some(rows) = rows.filter(|rows| axes.contains(rows) && count(rows) > 1) {
        return Some(rows);
    }
    let most = axes.iter().copied().rev();
    most.max_by_key(|key| (*key != VARIANT, count(key)))
        .filter(|key| count(key) > 1)
        .or_else(|| axes.iter().copied().find(|key| count(key) > 1))
}

/// The trials that have the same values of some keys.
#[derive(Debug)]
pub(crate) struct Group<'a> {
    /// For display: `instances=4, ext4`; empty without keys.
    pub(crate) name: String,
    /// In the order of the keys.
    pub(crate) values: Vec<Option<&'a Value>>,
    pub(crate) trials: Vec<&'a TrialSummary>,
}

impl<'a> Group<'a> {
    pub(crate) fn tps(&self) -> Cell {
        Cell::of(&self.trials, "tps")
    }

    pub(crate) fn of_variant(&self, variant: &str) -> Vec<&'a TrialSummary> {
        of_variant(self.trials.iter().copied(), variant)
    }

    fn by(&self, key: &str) -> Vec<Self> {
        let groups = values(&self.trials, key).into_iter().map(|wanted| Self {
            name: String::new(),
            values: [&*self.values, &[wanted]].concat(),
            trials: having(&self.trials, key, wanted),
        });
        groups.collect()
    }
}

pub(crate) fn having<'a>(
    trials: &[&'a TrialSummary],
    key: &str,
    wanted: Option<&Value>,
) -> Vec<&'a TrialSummary> {
    let trials = trials.iter().copied();
    trials.filter(|trial| value(trial, key) == wanted).collect()
}

pub(crate) fn of_variant<'a>(
    trials: impl IntoIterator<Item = &'a TrialSummary>,
    name: &str,
) -> Vec<&'a TrialSummary> {
    let trials = trials.into_iter();
    trials
        .filter(|trial| variant(trial) == Some(name))
        .collect()
}

/// The trials by their values of `keys`, which are some of the study's `axes`, the last key
/// fastest; without keys, or where all trials agree, one group.
pub(crate) fn groups<'a>(
    trials: &[&'a TrialSummary],
    keys: &[&str],
    axes: &[&str],
) -> Vec<Group<'a>> {
    let all = Group {
        name: String::new(),
        values: Vec::new(),
        trials: trials.to_vec(),
    };
    let mut groups = keys.iter().fold(vec![all], |groups, key| {
        groups.iter().flat_map(|group| group.by(key)).collect()
    });
    for group in &mut groups {
        let values = group.values.iter().copied();
        group.name = name(keys.iter().copied().zip(values), axes);
    }
    groups
}

/// Values as people say them: `instances=4, ext4`; a variant's name says enough.
fn name<'a>(pairs: impl Iterator<Item = (&'a str, Option<&'a Value>)>, axes: &[&str]) -> String {
    let parts = pairs.map(|(key, value)| match key {
        VARIANT => shown(value),
        key => format!("{}={}", short(key, axes), shown(value)),
    });
    joined(parts, ", ")
}

/// The same of the values that a point has.
pub(crate) fn name_of(point: &Point, axes: &[&str]) -> String {
    let known = axes.iter().filter(|axis| point.contains_key(**axis));
    name(known.map(|axis| (*axis, point.get(*axis))), axes)
}

pub(crate) fn ordered(point: &Point) -> Vec<(&str, String)> {
    let pairs = point.iter();
    let pairs = pairs.map(|(axis, value)| (axis.as_str(), value.to_string()));
    pairs.collect()
}

/// Names the trials of a result. Made once for all of them, because finding the axes takes a pass
/// over every trial.
#[derive(Debug)]
pub(crate) struct Names<'a> {
    axes: Vec<&'a str>,
    repeated: bool,
}

impl<'a> Names<'a> {
    pub(crate) fn of(result: &'a RunResult) -> Self {
        Self {
            axes: axes(result),
            repeated: repeated(result),
        }
    }

    pub(crate) fn trial(&self, trial: &TrialSummary) -> String {
        let planned = &trial.setup.planned;
        let repeat = self.repeated.then(|| format!("repeat {}", planned.repeat));
        let point = Some(self.point(trial)).filter(|point| !point.is_empty());
        let name = joined_any([point, repeat].into_iter().flatten(), ", ");
        name.unwrap_or_else(|| format!("trial {}", planned.number))
    }

    /// The name of all repeats of a point together; `None` without any.
    pub(crate) fn repeats(&self, repeats: &[&TrialSummary]) -> Option<String> {
        match repeats {
            [] => None,
            [one] => Some(self.trial(one)),
            [first, ..] => {
                let point = around("", &self.point(first), ", ");
                Some(format!("{point}{} trials", repeats.len()))
            }
        }
    }

    /// Empty where there is only one point.
    fn point(&self, trial: &TrialSummary) -> String {
        let axes = self.axes.iter();
        match self.axes.is_empty() {
            // The label of a repeat is its number.
            true if self.repeated => String::new(),
            true => trial.setup.planned.label.clone(),
            false => name(axes.map(|key| (*key, value(trial, key))), &self.axes),
        }
    }
}

/// Whether points were measured more than once.
pub(crate) fn repeated(result: &RunResult) -> bool {
    let mut trials = result.trials.iter();
    result.design.repeats > 1 || trials.any(|trial| trial.setup.planned.repeat > 1)
}

/// By what values are in order: a number, a duration in seconds, or a setting such as `128M`.
fn quantity(value: &Value) -> Option<f64> {
    match value {
        Value::Duration(duration) => Some(duration.as_secs_f64()),
        Value::Text(text) => size(text),
        value => value.as_number(),
    }
}

/// A number with or without a unit of time or size, in that unit's base.
fn size(text: &str) -> Option<f64> {
    let text = text.trim();
    let end = text.find(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '_')));
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    let unit = unit.trim().trim_end_matches("iB").trim_end_matches('B');
    let factor = match unit {
        "" | "s" | "%" | "/s" => 1.0,
        "ns" => 1e-9,
        "us" | "µs" => 1e-6,
        "ms" => 1e-3,
        // Not `m`, which means mebibytes in a server's setting. dyno's own durations are not texts.
        "min" => 60.0,
        "h" => 3600.0,
        "k" | "K" => 1024.0,
        "m" | "M" => 1024_f64.powi(2),
        "g" | "G" => 1024_f64.powi(3),
        "t" | "T" => 1024_f64.powi(4),
        _ => return None,
    };
    let number: f64 = number.replace('_', "").parse().ok()?;
    Some(number * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_times_are_in_order_of_size() {
        let order = ["512k", "64m", "128M", "512 MiB", "1g", "1.5GB", "2t"];
        let sizes: Vec<f64> = order.iter().map(|text| size(text).unwrap()).collect();
        assert!(sizes.is_sorted(), "{sizes:?}");
        assert!(size("500ms") < size("2s") && size("90s") < size("2min"));
        assert_eq!(size("25_000"), Some(25_000.0));
        for text in ["", "on", "O_DIRECT", "1x", "-", "1.2.3"] {
            assert_eq!(size(text), None, "{text}");
        }
    }

    #[test]
    fn keys_that_end_alike_keep_their_whole_name() {
        let axes = ["load.threads", "server.config.io", "data.io"];
        assert_eq!(short("load.threads", &axes), "threads");
        assert_eq!(short("data.io", &axes), "data.io");
    }
}
