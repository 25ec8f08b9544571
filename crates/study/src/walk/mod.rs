//! Reads TOML tables into the content of a study, checking every key against the table of keys.

mod faults;
pub(crate) mod overrides;
mod sizes;
mod sweep;
mod tables;
mod thresholds;
mod variant;

use std::collections::BTreeSet;
use std::ops::Range;

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

use crate::content::{Content, Entries, Entry};
use crate::error::{Diagnostic, Diagnostics};
use crate::name::Name;
use crate::read::{read, type_words};
use crate::setting::MAX_SETTINGS;
use crate::suggest;
use plan::key::{self, FAULT, Key, Kind, SIZES, SWEEP, SWITCHES, THRESHOLDS, VARIANT};
use plan::{FromValue, Origin, Span, Spanned, Value, redact_url, shown};

/// No key has a name of more parts, so deeper tables need not be entered.
const MAX_PARTS: usize = 8;
/// No key has a longer name. Without this limit, many keys below a long name would take time
/// proportional to the product of both.
const MAX_NAME_BYTES: usize = 300;

/// A value from the TOML parser.
type TomlValue<'v> = TomlSpanned<DeValue<'v>>;

/// The content of a study and its diagnostics, while the study is read.
#[derive(Debug, Default)]
pub(crate) struct Walk {
    pub(crate) content: Content,
    pub(crate) diagnostics: Diagnostics,
    /// URLs with passwords, and what replaces them in the text.
    pub(crate) secrets: Vec<(Span, String)>,
    /// All settings that were named.
    settings: BTreeSet<String>,
}

impl Walk {
    pub(crate) fn file(&mut self, root: &DeTable<'_>) {
        let mut entries = Entries::new();
        for (typed, value) in root.iter() {
            let (name, at) = (typed.get_ref(), Span::new(Origin::File, typed.span()));
            match value.get_ref() {
                DeValue::Table(table) if name == SWEEP => self.sweep(table),
                DeValue::Table(table) if name == SIZES => self.sizes(table),
                DeValue::Table(table) if name == THRESHOLDS => self.thresholds(table),
                DeValue::Table(table) if key::is_section(name) => {
                    self.section(name, table, &mut entries);
                    self.switch_on(name, at, &mut entries);
                }
                DeValue::Array(list) if name == VARIANT => self.variants(list),
                other if name == VARIANT => self.not_tables(VARIANT, other, at, variant::HOW),
                DeValue::Array(list) if name == FAULT => self.faults(list),
                other if name == FAULT => self.not_tables(FAULT, other, at, faults::HOW),
                other
                    if [SWEEP, SIZES, THRESHOLDS].contains(&name.as_ref())
                        || key::is_section(name) =>
                {
                    self.not_a_section(name, other, at);
                }
                _ => self.key_of_section("", name, value, at, &mut entries),
            }
        }
        self.content.entries = entries;
        self.content.axes.sort_by_key(|axis| axis.at);
        let thresholds = &mut self.content.thresholds;
        thresholds.sort_by_key(|threshold| threshold.column.span);
    }

    fn section(&mut self, section: &str, table: &DeTable<'_>, into: &mut Entries) {
        for (typed, value) in table.iter() {
            let at = Span::new(Origin::File, typed.span());
            self.key_of_section(section, typed.get_ref(), value, at, into);
        }
    }

    /// Adds the key that turns a section on, unless the study gives it.
    fn switch_on(&mut self, section: &str, at: Span, into: &mut Entries) {
        for (key, value) in SWITCHES {
            if let Some(key) = Key::find(key)
                && key.section() == section
                && !into.contains_key(key.name)
                && let Ok(value) = DeValue::parse(value)
            {
                let name = Name::of(key);
                let value = read(&name, value.get_ref()).ok();
                let value = value.map(|value| Spanned { value, span: at });
                into.insert(key.name.to_owned(), Entry { name, at, value });
            }
        }
    }

    fn key_of_section(
        &mut self,
        section: &str,
        last: &str,
        value: &TomlValue<'_>,
        at: Span,
        into: &mut Entries,
    ) {
        let name = joined(section, last);
        if let (DeValue::Table(table), true) = (value.get_ref(), key::is_group(&name)) {
            return self.section(&name, table, into);
        }
        if let Some(name) = self.find(&name, at, || suggest::key(section, &name)) {
            self.key(name, value, at, into);
        }
    }

    /// A key with its value, or all settings of a table of settings.
    fn key(&mut self, name: Name, value: &TomlValue<'_>, at: Span, into: &mut Entries) {
        match (&name.key.kind, value.get_ref()) {
            (Kind::Settings, DeValue::Table(table)) if name.setting().is_none() => {
                leaves(name.full(), table, at.origin, &mut |full, value, at| {
                    if let Some(name) = self.find(&full, at, String::new) {
                        self.entry(name, value, at, into);
                    }
                });
            }
            (Kind::Tables, DeValue::Array(list)) => self.tables(list, at.origin),
            _ => self.entry(name, value, at, into),
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
        if let (Kind::Url, Some(text)) = (&name.key.kind, value.get_ref().as_str()) {
            self.hide(span, text);
        }
        match read(name, value.get_ref()) {
            Ok(value) => Some(Spanned { value, span }),
            Err(diagnostic) => {
                self.diagnostics.add(span, diagnostic);
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
        let Spanned { value, span } = self.value(&Name::of(key), value, origin)?;
        let value = T::from_value(&value)?;
        Some(Spanned { value, span })
    }

    fn refuse(&mut self, at: Span, message: impl Into<String>, help: impl Into<String>) {
        self.diagnostics.add(at, Diagnostic::new(message, help));
    }

    /// At the later of two locations, with a reference to the earlier.
    fn refuse_two(
        &mut self,
        one: Span,
        other: Span,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let diagnostic = Diagnostic::new(message, help);
        self.diagnostics.add_of_two(one, other, diagnostic);
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

    /// The key of this name, unless it is unknown or invalid, which is reported.
    fn find(&mut self, name: &str, at: Span, help: impl FnOnce() -> String) -> Option<Name> {
        match Name::find(name) {
            Ok(Some(name)) => return Some(name),
            Ok(None) => self.unknown("key", name, at, help),
            Err(diagnostic) => self.diagnostics.add(at, diagnostic),
        }
        None
    }

    /// A key of a `part` of the study, which sets only what may differ.
    fn key_of_part(
        &mut self,
        part: &str,
        name: Name,
        value: &TomlValue<'_>,
        at: Span,
        into: &mut Entries,
    ) {
        if name.key.axis {
            return self.entry(name, value, at, into);
        }
        let message = format!("a {part} cannot set `{}`", name.full());
        let each = if part == VARIANT { "trial" } else { part };
        let help = format!("it is the same in every {each}: set it outside the {part}s");
        self.refuse(at, message, help);
    }

    /// `help` takes time, so it is not called for every key of a long list.
    fn unknown(&mut self, what: &str, name: &str, at: Span, help: impl FnOnce() -> String) {
        let diagnostic = if self.diagnostics.is_full() {
            Diagnostic::new("", "")
        } else {
            Diagnostic::new(format!("unknown {what} `{}`", shown(name)), help())
        };
        self.diagnostics.add(at, diagnostic);
    }

    fn not_a_section(&mut self, name: &str, value: &DeValue<'_>, at: Span) {
        let message = format!("`{name}` is a section, not {}", type_words(value));
        let help = format!("write [{name}] on its own line, and its keys below");
        self.refuse(at, message, help);
    }

    /// A value in the place of tables with double brackets.
    fn not_tables(&mut self, name: &str, value: &DeValue<'_>, at: Span, help: &str) {
        let found = match value {
            DeValue::Table(_) => "one table",
            other => type_words(other),
        };
        self.refuse(
            at,
            format!("`{name}` is a list of tables, not {found}"),
            help,
        );
    }

    /// Records a URL that contains a password, however it is quoted.
    fn hide(&mut self, span: Span, url: &str) {
        let shown = redact_url(url);
        if shown != url {
            self.secrets.push((span, format!("{:?}", shown)));
        }
    }

    /// The URLs to replace in the text of the file.
    pub(crate) fn secrets_in_file(&self) -> Vec<(Range<usize>, String)> {
        let in_file = self
            .secrets
            .iter()
            .filter(|(span, _)| span.origin == Origin::File);
        in_file
            .map(|(span, shown)| (span.start..span.end, shown.clone()))
            .collect()
    }
}

/// Finds every value below `table`: the unquoted key `a.b` is a nested table, equivalent to
/// `"a.b"`.
fn leaves(
    prefix: &str,
    table: &DeTable<'_>,
    origin: Origin,
    found: &mut dyn FnMut(String, &TomlValue<'_>, Span),
) {
    for (typed, value) in table.iter() {
        let name = joined(prefix, typed.get_ref());
        let can_be_longer = name.len() <= MAX_NAME_BYTES && name.matches('.').count() < MAX_PARTS;
        match value.get_ref() {
            DeValue::Table(inner) if can_be_longer => leaves(&name, inner, origin, found),
            _ => found(name, value, Span::new(origin, typed.span())),
        }
    }
}

fn joined(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}
