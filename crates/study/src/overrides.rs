//! `--set key=value`: what the command line says instead of the file.

use std::collections::BTreeSet;

use toml::Spanned as TomlSpanned;
use toml::de::DeValue;

use crate::check::{self, EITHER};
use crate::error::Fault;
use crate::key::{self, Key, SWEEP};
use crate::nesting;
use crate::source::Source;
use crate::span::{Origin, Span};
use crate::suggest::shown;
use crate::walk::Typed;

/// Puts overrides in place of what the file says, with the same checks.
pub(crate) fn apply(typed: &mut Typed, overrides: &[(&str, &str)]) {
    let named: Vec<_> = overrides.iter().map(|(name, _)| bare(name)).collect();
    typed.forget(&replaced(&named));
    for (i, ((_, text), name)) in overrides.iter().zip(&named).enumerate() {
        // Of one key given twice the last counts, as on every command line.
        if named.iter().skip(i + 1).any(|later| later == name) {
            continue;
        }
        let origin = Origin::Override(i);
        let at = Span::new(origin, 0..0);
        match (name.strip_prefix("sweep."), key::find(name)) {
            (Some(axis), _) => typed.axis(axis, &override_value(None, text), at, origin),
            (None, Some(key)) => typed.setting(key, &override_value(Some(key), text), at, origin),
            (None, None) => typed.faults.add(at, unknown(name)),
        }
    }
}

fn unknown(name: &str) -> Fault {
    let message = format!("unknown key `{}`", shown(name));
    if let Some(key) = key::KEYS
        .iter()
        .find(|k| k.section() == name && !name.is_empty())
    {
        let help = format!(
            "`{name}` is a section; set one of its keys, such as `{}`",
            key.name
        );
        return Fault::new(message, help);
    }
    let section = name.rsplit_once('.').map_or("", |(section, _)| section);
    Fault::new(message, check::likely_key(section, name))
}

/// `sweep."load.threads"` and `sweep.load.threads` are the same axis.
fn bare(name: &str) -> String {
    match name.trim().split_once('.') {
        Some((SWEEP, axis)) => format!("{SWEEP}.{}", axis.trim_matches(['"', '\''])),
        _ => name.trim().to_owned(),
    }
}

/// The keys that no longer count as the file has them.
fn replaced(named: &[String]) -> BTreeSet<&str> {
    let mut names: BTreeSet<_> = named
        .iter()
        .map(|name| name.strip_prefix("sweep.").unwrap_or(name))
        .collect();
    if EITHER.iter().any(|name| names.contains(name)) {
        names.extend(EITHER);
    }
    names
}

/// TOML if it is, else the text itself; text needs no quotes.
fn override_value<'t>(key: Option<&Key>, text: &'t str) -> TomlSpanned<DeValue<'t>> {
    let plain = || TomlSpanned::new(0..text.len(), DeValue::String(text.into()));
    if nesting::too_deep(text, Origin::Nowhere).is_some() {
        return plain();
    }
    match DeValue::parse(text) {
        Ok(value) if key.is_some_and(Key::takes_text) && !value.get_ref().is_str() => plain(),
        Ok(value) => value,
        Err(_) => plain(),
    }
}

/// What is hidden by form was hidden before; an understood address is hidden whole.
pub(crate) fn hide(source: &mut Source, typed: &Typed, overrides: &[(&str, &str)]) {
    for (span, shown) in &typed.secrets {
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
