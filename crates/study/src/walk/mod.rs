//! Reads TOML tables into the content of a study, checking every key against the table of keys.

mod faults;
pub(crate) mod overrides;
mod report;
mod sizes;
mod sweep;
mod variant;

use std::collections::BTreeSet;

use toml::Spanned as TomlSpanned;
use toml::de::{DeArray, DeTable, DeValue};

use crate::content::{Content, Entries, Entry, Giver, Part};
use crate::error::{Diagnostics, Report};
use crate::name::Name;
use crate::read::{built_in, read};
use crate::setting::MAX_SETTINGS;
use crate::suggest;
use crate::syntax::type_words;
use plan::key::{self, FAULT, Key, Kind, SECTIONS, SIZES, SWEEP, SWITCHES, THRESHOLDS, VARIANT};
use plan::{FromValue, Origin, Span, Spanned, TextError, Value, redact_url, shown};

/// No key has a name of more parts, so deeper tables need not be entered.
const MAX_PARTS: usize = 8;
/// No key has a longer name. Without this limit, many keys below a long name would take time
/// proportional to the product of both.
const MAX_NAME_BYTES: usize = 300;

type TomlValue<'v> = TomlSpanned<DeValue<'v>>;

/// The content of a study and its diagnostics, while the study is read.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) content: Content,
    pub(crate) diagnostics: Diagnostics,
    /// URLs with passwords, and what replaces them in the text of the file or an override.
    pub(crate) secrets: Vec<(Span, String)>,
    /// All settings that were named.
    settings: BTreeSet<String>,
}

impl Report for Walk {
    fn report(&self, at: Span, also: Option<Span>, error: TextError) {
        self.diagnostics.report(at, also, error);
    }
}

impl Walk {
    pub(crate) fn file(&mut self, root: &DeTable<'_>) {
        let mut part = Part::default();
        for (typed, value) in root.iter() {
            let (name, at) = (typed.get_ref(), Span::new(Origin::File, typed.span()));
            let is_section = [SWEEP, SIZES, THRESHOLDS].contains(&name.as_ref())
                || SECTIONS.contains(&name.as_ref());
            match (name.as_ref(), value.get_ref()) {
                (SIZES, DeValue::Table(table)) => self.sizes(table),
                (VARIANT, DeValue::Array(list)) => self.variants(list),
                (VARIANT, other) => self.not_tables(VARIANT, other, at, variant::HOW),
                (FAULT, DeValue::Array(list)) => self.content.faults = self.faults(list),
                (FAULT, other) => self.not_tables(FAULT, other, at, faults::HOW),
                (_, other) if is_section && !other.is_table() => {
                    let message = format!("`{name}` is a section, not {}", type_words(other));
                    let help = format!("write [{name}] on its own line, and its keys below");
                    self.refuse(at, message, help);
                }
                _ => {
                    self.keys(Giver::File, name, value, at, &mut part);
                    self.switch_on(name, at, &mut part.entries);
                }
            }
        }
        self.content.common = part;
        let thresholds = &mut self.content.thresholds;
        thresholds.sort_by_key(|threshold| threshold.column.span);
    }

    /// Adds the key that turns a section on, unless the study gives it.
    fn switch_on(&mut self, section: &str, at: Span, into: &mut Entries) {
        for (key, value) in SWITCHES {
            if let Some(key) = Key::find(key)
                && key.section() == section
                && !into.contains_key(key.name)
            {
                let name = Name::of(key);
                let value = built_in(key, value).map(|value| Spanned::new(value, at));
                into.insert(key.name.to_owned(), Entry { name, at, value });
            }
        }
    }

    /// A key, or all keys at or below its name.
    fn keys(&mut self, giver: Giver, name: &str, value: &TomlValue<'_>, at: Span, into: &mut Part) {
        leaves(name, value, at, &mut |name, value, at| {
            self.key(giver, name, value, at, into);
        });
        into.axes.sort_by_key(|axis| axis.at);
    }

    fn key(&mut self, giver: Giver, name: &str, value: &TomlValue<'_>, at: Span, into: &mut Part) {
        match name.split_once('.') {
            Some((SWEEP, axis)) if giver != Giver::Variant => {
                return self.axis(axis, value, at, into);
            }
            Some((THRESHOLDS, column)) if matches!(giver, Giver::File | Giver::Override) => {
                return self.threshold(column, value, at);
            }
            _ => {}
        }
        let name = match Name::find(name) {
            Ok(Some(found)) => found,
            Ok(None) => return self.unknown("key", name, at, || suggest::key(giver, name)),
            Err(error) => return self.add(at, error),
        };
        let part = match giver {
            Giver::Variant => Some(("variant", "trial")),
            Giver::Size => Some(("size", "size")),
            Giver::File | Giver::Override => None,
        };
        if let Some((part, each)) = part.filter(|_| !name.key.axis) {
            let message = format!("a {part} cannot set `{}`", name.full());
            let help = format!("it is the same in every {each}: set it outside the {part}s");
            return self.refuse(at, message, help);
        }
        match (&name.key.kind, value.get_ref()) {
            (Kind::Tables, DeValue::Array(list)) => self.tables(list, at.origin),
            _ => self.entry(name, value, at, &mut into.entries),
        }
    }

    fn entry(&mut self, name: Name, value: &TomlValue<'_>, at: Span, into: &mut Entries) {
        if let Some(first) = into.get(name.full()) {
            let message = format!("duplicate key `{}`", name.full());
            return self.refuse_two(first.at, at, message, "keep one of the two");
        }
        if !self.has_room_for(&name, at) {
            return;
        }
        let value = self.value(&name, value, at.origin);
        into.insert(name.full().to_owned(), Entry { name, at, value });
    }

    fn value(
        &mut self,
        name: &Name,
        value: &TomlValue<'_>,
        origin: Origin,
    ) -> Option<Spanned<Value>> {
        let span = Span::new(origin, value.span());
        if let (Kind::Url, Some(url)) = (&name.key.kind, value.get_ref().as_str()) {
            let shown = redact_url(url);
            if shown != url {
                self.secrets.push((span, format!("{shown:?}")));
            }
        }
        match read(name, value.get_ref()) {
            Ok(value) => Some(Spanned::new(value, span)),
            Err(error) => {
                self.add(span, error);
                None
            }
        }
    }

    /// The value of a key that is not in the table of keys, but is read like one.
    fn typed<T: FromValue>(
        &mut self,
        key: &'static Key,
        value: &TomlValue<'_>,
        origin: Origin,
    ) -> Option<Spanned<T>> {
        self.value(&Name::of(key), value, origin)?
            .try_map(T::from_value)
    }

    /// Whether the study may have one more setting. Their number is limited because each trial
    /// has a copy of all of them.
    fn has_room_for(&mut self, name: &Name, at: Span) -> bool {
        let Some(setting) = name.setting() else {
            return true;
        };
        if self.settings.len() < MAX_SETTINGS {
            self.settings.insert(setting.to_owned());
        }
        let has_room = self.settings.contains(setting);
        if !has_room {
            let message = format!("too many settings: `{}`", shown(setting));
            let help = format!("a study has at most {MAX_SETTINGS} settings");
            self.refuse(at, message, help);
        }
        has_room
    }

    /// `help` takes time, so it is not called for every key of a long list.
    fn unknown(&self, what: &str, name: &str, at: Span, help: impl FnOnce() -> String) {
        match self.diagnostics.is_full() {
            true => self.refuse(at, "", ""),
            false => self.refuse(at, format!("unknown {what} `{}`", shown(name)), help()),
        }
    }

    /// A value in the place of tables with double brackets.
    fn not_tables(&self, name: &str, value: &DeValue<'_>, at: Span, help: &str) {
        let found = match value {
            DeValue::Table(_) => "one table",
            other => type_words(other),
        };
        let message = format!("`{name}` is a list of tables, not {found}");
        self.refuse(at, message, help);
    }

    /// A list of 1 to `max` values. Messages say what it `is`, and what one of another length `has`.
    fn list<'v>(
        &self,
        value: &'v TomlValue<'v>,
        origin: Origin,
        max: usize,
        is: &str,
        has: impl Fn(usize) -> String,
        help: &str,
    ) -> Option<&'v DeArray<'v>> {
        let message = match value.get_ref() {
            DeValue::Array(list) if (1..=max).contains(&list.len()) => return Some(list),
            DeValue::Array(list) => has(list.len()),
            other => format!("{is}, not {}", type_words(other)),
        };
        self.refuse(Span::new(origin, value.span()), message, help);
        None
    }
}

/// Finds every value at or below a name: the unquoted key `a.b` is a nested table, equivalent to
/// `"a.b"`.
fn leaves(
    name: &str,
    value: &TomlValue<'_>,
    at: Span,
    found: &mut dyn FnMut(&str, &TomlValue<'_>, Span),
) {
    match value.get_ref() {
        DeValue::Table(table) if has_keys_below(name) => {
            for (typed, value) in table.iter() {
                let name = format!("{name}.{}", typed.get_ref());
                leaves(&name, value, Span::new(at.origin, typed.span()), found);
            }
        }
        _ => found(name, value, at),
    }
}

/// Whether a table of this name is a part of the names of keys, not a value.
fn has_keys_below(name: &str) -> bool {
    if name.len() > MAX_NAME_BYTES || name.matches('.').count() >= MAX_PARTS {
        return false;
    }
    let (first, rest) = name.split_once('.').unwrap_or((name, ""));
    let name = match first {
        THRESHOLDS => return true,
        SWEEP if rest.is_empty() => return true,
        SWEEP => rest,
        _ => name,
    };
    let has_settings = |name: Name| matches!(name.key.kind, Kind::Settings | Kind::Options);
    key::is_group(name) || Name::find(name).is_ok_and(|name| name.is_some_and(has_settings))
}
