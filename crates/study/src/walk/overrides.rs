//! `--set key=value`: overrides of the file.

use toml::Spanned as TomlSpanned;
use toml::de::DeValue;

use super::{TomlValue, Walk};
use crate::content::{Axis, EITHER, Entry};
use crate::name::Name;
use crate::read::read;
use crate::source::SourceText;
use crate::suggest;
use crate::syntax::too_deep;
use plan::key::{Key, Kind, SIZES, SWEEP, THRESHOLDS, VARIANT};
use plan::{Origin, Span, Value};

struct Override<'t> {
    /// The full name of the key, or the text that names no key.
    key: String,
    is_axis: bool,
    text: &'t str,
    at: Span,
}

impl Override<'_> {
    fn is_name(&self) -> bool {
        let name = self.key.strip_prefix(VARIANT);
        name.is_some_and(|rest| rest.ends_with(".name"))
    }
}

/// Applies overrides, with the same checks as for the file.
pub(crate) fn apply(walk: &mut Walk, overrides: &[(&str, &str)]) {
    let all = overrides.iter().enumerate();
    let all: Vec<_> = all.map(|(i, (name, text))| parse(i, name, text)).collect();
    // The last override of a key counts.
    let is_last = |(i, change): &(usize, &Override<'_>)| {
        let mut later = all.iter().skip(i + 1);
        later.all(|other| other.key != change.key)
    };
    let counts = all.iter().enumerate().filter(is_last);
    // Other overrides take precedence over the values of the chosen size.
    let (sizes, counts): (Vec<_>, Vec<_>) = counts
        .map(|(_, change)| change)
        .partition(|change| change.key == SIZES);
    for change in sizes {
        walk.choose(change.text.trim(), change.at);
    }
    for change in &counts {
        if Name::find(&change.key).is_ok_and(|name| name.is_some()) {
            walk.forget(&change.key);
        }
    }
    // Other overrides refer to a variant by its name in the file, so names change last.
    let (names, counts): (Vec<_>, Vec<_>) = counts.into_iter().partition(|change| change.is_name());
    for change in counts.iter().chain(&names) {
        walk.put(change);
    }
}

fn parse<'t>(index: usize, name: &str, text: &'t str) -> Override<'t> {
    let name = name.trim();
    // `sweep."load.threads"` and `sweep.load.threads` are the same axis.
    let (is_axis, key) = match name.split_once('.') {
        Some((SWEEP, axis)) => (true, unquoted(axis)),
        _ => (false, name),
    };
    let known = Name::find(key).ok().flatten();
    Override {
        key: known.map_or_else(|| key.to_owned(), |name| name.full().to_owned()),
        is_axis,
        text,
        at: Span::new(Origin::Override(index), 0..0),
    }
}

impl Walk {
    /// Removes a key from the file and its variants. An axis of this key keeps its position for
    /// the new value.
    pub(super) fn forget(&mut self, key: &str) {
        let is_below = |name: &str| name.strip_prefix(key).is_some_and(|n| n.starts_with('.'));
        let is_other = |name: &str| EITHER.contains(&key) && EITHER.contains(&name) && name != key;
        let is_replaced = |name: &str| is_below(name) || is_other(name);
        let content = &mut self.content;
        content
            .entries
            .retain(|name, _| name != key && !is_replaced(name));
        for variant in &mut content.variants {
            variant
                .entries
                .retain(|name, _| name != key && !is_replaced(name));
        }
        content.axes.retain(|axis| !is_replaced(axis.name.full()));
        if key == "report.tables" {
            content.tables.clear();
        }
    }

    fn put(&mut self, change: &Override<'_>) {
        if change.is_axis {
            if let Some(axis) = self.axis(&change.key, &value(None, change.text), change.at) {
                self.put_axis(axis);
            }
            return;
        }
        if let Some((THRESHOLDS, column)) = change.key.split_once('.') {
            return self.threshold(unquoted(column), &text(change.text), change.at);
        }
        if let Some((VARIANT, rest)) = change.key.split_once('.') {
            return self.put_in_variant(rest, change.text, change.at);
        }
        let help = || suggest::key_of_override(&change.key);
        let Some(name) = self.find(&change.key, change.at, help) else {
            return;
        };
        let typed = value(Some(&name), change.text);
        if self.content.axis(name.full()).is_some() {
            let value = self.value(&name, &typed, change.at.origin);
            let at = change.at;
            return self.put_entry(Entry { name, at, value });
        }
        let mut entries = std::mem::take(&mut self.content.entries);
        self.key(name, &typed, change.at, &mut entries);
        self.content.entries = entries;
    }

    /// In its place in the entries, or as the only value of its axis.
    pub(super) fn put_entry(&mut self, entry: Entry) {
        let axes = &mut self.content.axes;
        match axes.iter_mut().find(|a| a.name.full() == entry.name.full()) {
            Some(axis) => {
                *axis = Axis {
                    name: entry.name,
                    at: entry.at,
                    values: entry.value.into_iter().collect(),
                };
            }
            None => {
                let name = entry.name.full().to_owned();
                self.content.entries.insert(name, entry);
            }
        }
    }

    /// Replaces the axis of the same key, or adds an axis.
    pub(super) fn put_axis(&mut self, axis: Axis) {
        let axes = &mut self.content.axes;
        match axes.iter_mut().find(|a| a.name.full() == axis.name.full()) {
            Some(place) => *place = axis,
            None => axes.push(axis),
        }
    }
}

/// The value of a text that is TOML, else the text as a string: strings need no quotes.
pub(super) fn value<'t>(name: Option<&Name>, text: &'t str) -> TomlValue<'t> {
    if too_deep(text, Origin::Nowhere).is_some() {
        return self::text(text);
    }
    match DeValue::parse(text) {
        Ok(value) if name.is_none_or(|name| reads(name, value.get_ref())) => value,
        _ => self::text(text),
    }
}

pub(super) fn text(text: &str) -> TomlValue<'_> {
    TomlSpanned::new(0..text.len(), DeValue::String(text.into()))
}

/// A name without the quotes that it needs in a file.
fn unquoted(name: &str) -> &str {
    name.trim_matches(['"', '\''])
}

/// Whether a text that is valid TOML is read as such. For a key that takes text, only a quoted
/// string is.
fn reads(name: &Name, value: &DeValue<'_>) -> bool {
    match &name.key.kind {
        Kind::Integer { .. }
        | Kind::Number { .. }
        | Kind::Boolean
        | Kind::Tables
        | Kind::Bytes { .. }
        | Kind::Paths
        | Kind::Faults => true,
        Kind::Settings if name.setting().is_some() => !matches!(
            value,
            DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_)
        ),
        Kind::Settings => true,
        _ => value.is_str(),
    }
}

/// Reads the text of an option like an override of its key.
pub fn read_option(key: &'static Key, text: &str) -> Result<Value, (String, String)> {
    let name = Name::of(key);
    let read = read(&name, value(Some(&name), text).get_ref());
    read.map_err(|diagnostic| (diagnostic.message, diagnostic.help))
}

/// Hides passwords in URLs that were recognized as values; others are already hidden by their
/// form.
pub(crate) fn hide(source: &mut SourceText, walk: &Walk, overrides: &[(&str, &str)]) {
    for (span, shown) in &walk.secrets {
        let Origin::Override(i) = span.origin else {
            continue;
        };
        let (Some(slot), Some((key, _))) = (source.overrides.get_mut(i), overrides.get(i)) else {
            continue;
        };
        if !key.starts_with(SWEEP) {
            *slot = format!("{key}={shown}");
        }
    }
}
