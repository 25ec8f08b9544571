//! From TOML to settings and axes: every key against the table of keys.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use crate::error::{Fault, Faults};
use crate::key::{self, KEYS, Key, Kind, SWEEP};
use crate::read::{read, type_words};
use crate::redact::redact_url;
use crate::span::{Origin, Span, Spanned};
use crate::study::MAX_TRIALS;
use crate::suggest::shown;
use crate::value::Value;

/// An axis name has few parts; a deeper table cannot be one.
const MAX_AXIS_PARTS: usize = 8;

/// One axis of a sweep, as typed.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) key: &'static Key,
    pub(crate) span: Span,
    pub(crate) values: Vec<Spanned<Value>>,
}

/// What was typed, and what was wrong with it.
#[derive(Debug, Default)]
pub(crate) struct Typed {
    pub(crate) settings: BTreeMap<&'static str, Spanned<Value>>,
    pub(crate) axes: Vec<Axis>,
    /// Keys that stand in the study, well-formed or not: a faulty key is not
    /// also a missing one.
    pub(crate) seen: BTreeMap<&'static str, Span>,
    pub(crate) faults: Faults,
    /// Addresses, with what may be shown of them, to take out of the text.
    pub(crate) secrets: Vec<(Span, String)>,
}

impl Typed {
    pub(crate) fn file(&mut self, root: &DeTable<'_>) {
        self.section("", root);
        self.axes.sort_by_key(|axis| axis.span);
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>) {
        for (typed, value) in table.iter() {
            let name = joined(section, typed.get_ref());
            let at = Span::new(Origin::File, typed.span());
            if let Some(key) = key::find(&name) {
                self.setting(key, value, at, Origin::File);
            } else if section.is_empty() && key::is_section(&name) {
                match value.get_ref() {
                    DeValue::Table(table) if name == SWEEP => self.sweep("", table, 1),
                    DeValue::Table(table) => self.section(&name, table),
                    other => self.not_a_section(&name, other, at),
                }
            } else {
                self.unknown(section, &name, at);
            }
        }
    }

    fn not_a_section(&mut self, name: &str, value: &DeValue<'_>, at: Span) {
        let message = format!("`{name}` is a section, not {}", type_words(value));
        let fault = Fault::new(
            message,
            format!("write [{name}] on a line of its own, and its keys below"),
        );
        self.faults.add(at, fault);
    }

    fn unknown(&mut self, section: &str, name: &str, at: Span) {
        let fault = if self.faults.is_full() {
            Fault::new("", "")
        } else {
            Fault::new(
                format!("unknown key `{}`", shown(name)),
                crate::check::likely_key(section, name),
            )
        };
        self.faults.add(at, fault);
    }

    pub(crate) fn setting(
        &mut self,
        key: &'static Key,
        value: &TomlSpanned<DeValue<'_>>,
        at: Span,
        origin: Origin,
    ) {
        self.seen.insert(key.name, at);
        if let Some(value) = self.value(key, value, origin) {
            self.settings.insert(key.name, value);
        }
    }

    fn value(
        &mut self,
        key: &'static Key,
        value: &TomlSpanned<DeValue<'_>>,
        origin: Origin,
    ) -> Option<Spanned<Value>> {
        let span = Span::new(origin, value.span());
        if let (Kind::Url, Some(text)) = (&key.kind, value.get_ref().as_str()) {
            self.hide(span, text);
        }
        match read(key, value.get_ref()) {
            Ok(value) => Some(Spanned { value, span }),
            Err(fault) => {
                self.faults.add(span, fault);
                None
            }
        }
    }

    /// Notes an address that holds a password, however it was quoted.
    fn hide(&mut self, span: Span, address: &str) {
        let shown = redact_url(address);
        if shown != address {
            self.secrets.push((span, format!("{:?}", shown)));
        }
    }

    /// The addresses to take out of the file itself.
    pub(crate) fn secrets_in_file(&self) -> Vec<(Range<usize>, String)> {
        let in_file = self
            .secrets
            .iter()
            .filter(|(span, _)| span.origin == Origin::File);
        in_file
            .map(|(span, shown)| (span.start..span.end, shown.clone()))
            .collect()
    }

    /// `load.threads = […]` without quotes is a table in a table: the same axis.
    fn sweep(&mut self, prefix: &str, table: &DeTable<'_>, part: usize) {
        for (typed, value) in table.iter() {
            let name = joined(prefix, typed.get_ref());
            let at = Span::new(Origin::File, typed.span());
            match value.get_ref() {
                DeValue::Table(inner) if part < MAX_AXIS_PARTS => {
                    self.sweep(&name, inner, part + 1)
                }
                _ => self.axis(&name, value, at, Origin::File),
            }
        }
    }

    pub(crate) fn axis(
        &mut self,
        name: &str,
        value: &TomlSpanned<DeValue<'_>>,
        at: Span,
        origin: Origin,
    ) {
        let Some(key) = KEYS.iter().find(|k| k.axis && k.name == name) else {
            let message = format!("unknown axis `{}`", shown(name));
            let help = if self.faults.is_full() {
                String::new()
            } else {
                crate::check::likely_axis(name)
            };
            return self.faults.add(at, Fault::new(message, help));
        };
        if self.axes.iter().any(|axis| axis.key.name == name) {
            let fault = Fault::new(
                format!("the axis `{name}` stands twice"),
                "put all its values in one list",
            );
            return self.faults.add(at, fault);
        }
        self.seen.insert(key.name, at);
        let values = self.axis_values(key, value, origin);
        self.axes.push(Axis {
            key,
            span: at,
            values,
        });
    }

    fn axis_values(
        &mut self,
        key: &'static Key,
        value: &TomlSpanned<DeValue<'_>>,
        origin: Origin,
    ) -> Vec<Spanned<Value>> {
        let span = Span::new(origin, value.span());
        let DeValue::Array(list) = value.get_ref() else {
            let message = format!(
                "the axis `{}` takes a list, not {}",
                key.name,
                type_words(value.get_ref())
            );
            self.faults.add(
                span,
                Fault::new(
                    message,
                    format!("write \"{}\" = [value, value, …]", key.name),
                ),
            );
            return Vec::new();
        };
        if list.is_empty() {
            let fault = Fault::new(
                format!("the axis `{}` has no values", key.name),
                "write at least one value, or take the axis out",
            );
            self.faults.add(span, fault);
        }
        if list.len() > MAX_TRIALS {
            let message = format!("the axis `{}` has {} values", key.name, list.len());
            self.faults.add(
                span,
                Fault::new(
                    message,
                    format!(
                        "a study has at most {} trials",
                        crate::read::grouped(MAX_TRIALS as u64)
                    ),
                ),
            );
            return Vec::new();
        }
        let values: Vec<_> = list
            .iter()
            .filter_map(|v| self.value(key, v, origin))
            .collect();
        self.no_value_twice(key, &values);
        values
    }

    /// Two equal points would be two trials that nothing tells apart.
    fn no_value_twice(&mut self, key: &Key, values: &[Spanned<Value>]) {
        let mut known = HashSet::new();
        for value in values {
            let text = value.to_string();
            if known.contains(&text) {
                let message = format!("{} stands twice in the axis `{}`", shown(&text), key.name);
                self.faults
                    .add(value.span, Fault::new(message, "take one of the two out"));
            }
            known.insert(text);
        }
    }

    /// Takes a key out again, because an override speaks instead of it.
    pub(crate) fn forget(&mut self, names: &BTreeSet<&str>) {
        self.settings.retain(|name, _| !names.contains(name));
        self.seen.retain(|name, _| !names.contains(name));
        self.axes.retain(|axis| !names.contains(axis.key.name));
    }
}

fn joined(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}
