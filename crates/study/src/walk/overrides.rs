//! `--set key=value`: overrides of the file.

use toml::Spanned as TomlSpanned;
use toml::de::DeValue;

use super::{TomlValue, Walk};
use crate::content::{Giver, Part};
use crate::name::Name;
use crate::read::read;
use crate::syntax::too_deep;
use plan::key::{Key, Kind, SIZES, SWEEP, THRESHOLDS, VARIANT};
use plan::{Origin, Span, TextError, Value};

struct Override<'t> {
    /// The full name of the key, or the text that names no key.
    key: String,
    known: Option<Name>,
    is_axis: bool,
    text: &'t str,
    at: Span,
}

/// Applies overrides, with the same checks as for the file.
pub(crate) fn apply(walk: &mut Walk, overrides: &[(&str, &str)]) {
    let mut all: Vec<Override<'_>> = Vec::new();
    for (i, (name, text)) in overrides.iter().enumerate() {
        let change = parse(i, name, text);
        // The last override of a key counts.
        all.retain(|other| other.key != change.key);
        all.push(change);
    }
    // Other overrides take precedence over the values of the chosen size.
    let is_size = |change: &Override<'_>| change.key == SIZES && !change.is_axis;
    let (sizes, all): (Vec<_>, Vec<_>) = all.into_iter().partition(is_size);
    for change in sizes {
        walk.choose(change.text.trim(), change.at);
    }
    let mut part = Part::default();
    let (mut of_variants, mut names) = (Vec::new(), Vec::new());
    for change in &all {
        match change.key.split_once('.').filter(|_| !change.is_axis) {
            Some((VARIANT, rest)) if rest.ends_with(".name") => names.push((change, rest)),
            Some((VARIANT, rest)) => of_variants.push((change, rest)),
            _ => {
                let (key, text) = (change.key.clone(), change.text);
                // An unknown key is one mistake, and must not remove what it stands above.
                if change.known.is_some() {
                    walk.content.forget(&key);
                }
                let (name, value) = match &change.known {
                    _ if change.is_axis => (format!("{SWEEP}.{key}"), value(None, text)),
                    None if key.starts_with(THRESHOLDS) => (key, self::text(text)),
                    known => (key, value(known.as_ref(), text)),
                };
                walk.keys(Giver::Override, &name, &value, change.at, &mut part);
            }
        }
    }
    walk.content.overlay(part);
    // Other overrides refer to a variant by its name in the file, so names change last.
    for (change, rest) in of_variants.into_iter().chain(names) {
        walk.put_in_variant(rest, change.text, change.at);
    }
}

fn parse<'t>(index: usize, name: &str, text: &'t str) -> Override<'t> {
    let name = name.trim();
    // `sweep."load.threads"` and `sweep.load.threads` are the same axis.
    let (is_axis, key) = match name.split_once('.') {
        Some((SWEEP, axis)) => (true, unquoted(axis).to_owned()),
        Some((THRESHOLDS, column)) => (false, format!("{THRESHOLDS}.{}", unquoted(column))),
        _ => (false, name.to_owned()),
    };
    let known = Name::find(&key).ok().flatten();
    Override {
        key: known.as_ref().map_or(key, |name| name.full().to_owned()),
        known,
        is_axis,
        text,
        at: Span::new(Origin::Override(index), 0..0),
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
        | Kind::Faults
        | Kind::Hosts
        | Kind::Labels
        | Kind::Mix
        | Kind::Phases
        | Kind::Scripts
        | Kind::Options => true,
        Kind::Settings if name.setting().is_some() => !matches!(
            value,
            DeValue::Array(_) | DeValue::Table(_) | DeValue::Datetime(_)
        ),
        Kind::Settings => true,
        _ => value.is_str(),
    }
}

/// Reads the text of an option like an override of its key.
pub fn read_option(key: &'static Key, text: &str) -> Result<Value, TextError> {
    let name = Name::of(key);
    read(&name, value(Some(&name), text).get_ref())
}
