//! A point of a study: one value of every key, and what building its trial read of them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use crate::content::{Content, Entry, Variant};
use crate::error::{Diagnostics, Report};
use crate::name::Name;
use crate::read::built_in;
use plan::key::{self, Kind, VARIANT};
use plan::{ClusterTraits, EngineTraits, FromValue, Span, Spanned, TextError, Value};

pub(crate) const ENGINE: &str = "server.engine";
pub(crate) const URL: &str = "server.url";
pub(crate) const CLUSTER: &str = "topology.cluster";
/// Both name the agents that a load comes from.
pub(crate) const FROM: &str = "load.from";
pub(crate) const AGENTS: &str = "load.agents";
pub(crate) const NATS: &str = "load.nats";
pub(crate) const LISTEN: &str = "load.nats_listen";

/// The defaults of all keys, parsed like the values of a study. A key whose default is invalid
/// has none, which [`Point::spanned`] reports.
pub(crate) static DEFAULTS: LazyLock<BTreeMap<&str, Spanned<Value>>> = LazyLock::new(|| {
    let keys = key::KEYS.iter();
    let defaults = keys.filter_map(|key| Some((key.name, built_in(key, key.default?)?.into())));
    defaults.collect()
});

pub(crate) struct Point<'a> {
    pub(crate) engines: &'a [EngineTraits],
    pub(crate) variant: Option<&'a Variant>,
    entries: BTreeMap<&'a str, &'a Entry>,
    /// Those that are swept.
    axes: Vec<&'a Entry>,
    /// The names of given keys that were read.
    read: RefCell<BTreeSet<&'a str>>,
    diagnostics: &'a Diagnostics,
}

impl Report for Point<'_> {
    fn report(&self, at: Span, also: Option<Span>, error: TextError) {
        self.diagnostics.report(at, also, error);
    }
}

impl<'a> Point<'a> {
    /// The point of a variant with an index in the product of the axes, of which the last is the
    /// fastest.
    pub(crate) fn at(
        mut index: usize,
        content: &'a Content,
        variant: Option<&'a Variant>,
        engines: &'a [EngineTraits],
        diagnostics: &'a Diagnostics,
    ) -> Self {
        let mut axes = Vec::with_capacity(content.common.axes.len());
        for axis in content.common.axes.iter().rev() {
            axes.extend(axis.values.get(index % axis.values.len()));
            index /= axis.values.len();
        }
        axes.reverse();
        let mut entries = content.before_sweep(variant);
        entries.extend(axes.iter().map(|entry| (entry.name.full(), *entry)));
        Self {
            engines,
            variant,
            entries,
            axes,
            read: RefCell::default(),
            diagnostics,
        }
    }

    /// What the study gives, without counting as read.
    pub(crate) fn find(&self, name: &str) -> Option<&'a Entry> {
        self.entries.get(name).copied()
    }

    pub(crate) fn is_given(&self, name: &str) -> bool {
        self.mark(name);
        self.find(name).is_some()
    }

    /// Counts a key as read.
    pub(crate) fn mark(&self, name: &str) {
        let found = self.entries.get_key_value(name);
        self.read.borrow_mut().extend(found.map(|(name, _)| *name));
    }

    /// The valid value that the study itself has.
    pub(crate) fn given(&self, name: &str) -> Option<&'a Spanned<Value>> {
        self.mark(name);
        self.find(name)?.value.as_ref()
    }

    /// The text that the study itself has, without counting as read.
    pub(crate) fn word(&self, name: &str) -> Option<&'a str> {
        self.find(name)?.value.as_ref()?.as_text()
    }

    pub(crate) fn typed(&self, name: &str) -> Option<&Spanned<Value>> {
        self.given(name).or_else(|| DEFAULTS.get(name))
    }

    pub(crate) fn default<T: FromValue>(&self, name: &str) -> Option<T> {
        T::from_value(&DEFAULTS.get(name)?.value)
    }

    pub(crate) fn maybe_spanned<T: FromValue>(&self, name: &str) -> Option<Spanned<T>> {
        let typed = self.typed(name)?;
        let value = typed.try_map(T::from_value);
        if value.is_none() {
            self.internal(&format!("the value of `{name}` has the wrong type"));
        }
        value
    }

    /// The value of a key that has a default.
    pub(crate) fn spanned<T: FromValue + Default>(&self, name: &str) -> Spanned<T> {
        self.maybe_spanned(name).unwrap_or_else(|| {
            self.internal(&format!("`{name}` has no value"));
            Spanned::default()
        })
    }

    pub(crate) fn maybe<T: FromValue>(&self, name: &str) -> Option<T> {
        self.maybe_spanned(name).map(|typed| typed.value)
    }

    pub(crate) fn get<T: FromValue + Default>(&self, name: &str) -> T {
        self.spanned(name).value
    }

    /// The values below a key that stands for several, by their names.
    pub(crate) fn below(&self, key: &str) -> BTreeMap<String, String> {
        let all = self
            .entries
            .values()
            .filter(|entry| entry.name.key.name == key);
        let below = all.filter_map(|entry| {
            let value = self.given(entry.name.full())?;
            Some((entry.name.setting()?.to_owned(), value.to_string()))
        });
        below.collect()
    }

    /// Reports an error in the table of keys; tests ensure that there is none.
    pub(crate) fn internal(&self, message: &str) {
        let help = "this is a bug in dyno, not an error in the study";
        self.refuse(Span::NOWHERE, message, help);
    }

    /// The names of given keys that were read so far.
    pub(crate) fn read(&self) -> BTreeSet<&'a str> {
        self.read.borrow().clone()
    }

    /// The engine that dyno starts, unless it is unknown.
    pub(crate) fn engine(&self) -> Option<&'a EngineTraits> {
        let name = self.word(ENGINE)?;
        self.engines.iter().find(|engine| engine.name == name)
    }

    /// The engine in process that the study names, or that its URL stands for.
    pub(crate) fn in_process(&self) -> Option<&'a EngineTraits> {
        let named = self.find(URL).or_else(|| self.find(ENGINE))?;
        in_process(self.engines, &named.value.as_ref()?.value)
    }

    /// Whether dyno starts the servers as processes of their own.
    pub(crate) fn is_started(&self) -> bool {
        self.find(URL).is_none() && self.in_process().is_none()
    }

    /// The kind of cluster, unless it is not one of the engine's.
    pub(crate) fn cluster(&self) -> Option<&'a ClusterTraits> {
        let (engine, name) = (self.engine()?, self.word(CLUSTER)?);
        engine.clusters.iter().find(|kind| kind.name == name)
    }

    /// The settings that apply to the engine, by their names on the server, in order: those under
    /// its name if there are any, else those under no engine's name.
    pub(crate) fn settings(&self) -> Vec<(&'a str, &'a Entry)> {
        let engine = self.word(ENGINE).unwrap_or_default();
        let all = self.entries.values();
        let all = all.filter(|entry| matches!(entry.name.key.kind, Kind::Settings));
        let all = all.filter_map(|entry| Some((entry.name.setting()?, *entry)));
        let (mut own, mut common) = (Vec::new(), Vec::new());
        for (setting, entry) in all {
            match setting.split_once('.').filter(|(_, rest)| !rest.is_empty()) {
                Some((first, rest)) if first == engine => own.push((rest, entry)),
                Some((first, _)) if self.engines.iter().any(|e| e.name == first) => {}
                _ => common.push((setting, entry)),
            }
        }
        let settings = if own.is_empty() { common } else { own };
        let names = settings.iter().map(|(_, entry)| entry.name.full());
        self.read.borrow_mut().extend(names);
        settings
    }

    fn axes(&self) -> impl Iterator<Item = (&'a Name, &'a Value)> {
        let axes = self.axes.iter();
        axes.filter_map(|entry| Some((&entry.name, &entry.value.as_ref()?.value)))
    }

    pub(crate) fn values(&self) -> plan::Point {
        let variant = self.variant.map(|v| (VARIANT, v.name.as_str().into()));
        let swept = self
            .axes()
            .map(|(name, value)| (name.full(), value.clone()));
        variant.into_iter().chain(swept).collect()
    }

    /// Its variant and its values; empty in a study of a single point.
    pub(crate) fn label(&self) -> String {
        let variant = self.variant.map(|variant| variant.name.value.clone());
        let swept = self.axes().map(|(name, value)| {
            let same = |(other, _): &(&Name, _)| other.short() == name.short();
            let name = match self.axes().filter(same).count() {
                1 => name.short(),
                _ => name.full(),
            };
            format!("{name}={value}")
        });
        let all: Vec<String> = variant.into_iter().chain(swept).collect();
        all.join(", ")
    }
}

/// The engine in process that a name or a URL stands for.
pub(crate) fn in_process<'e>(
    engines: &'e [EngineTraits],
    named: &Value,
) -> Option<&'e EngineTraits> {
    let is_named = |engine: &&EngineTraits| match named {
        Value::Url(url) => {
            let scheme = url.expose().split(':').next();
            engine.schemes.iter().any(|known| Some(*known) == scheme)
        }
        name => name.as_text() == Some(engine.name),
    };
    let mut engines = engines.iter().filter(|engine| !engine.is_process);
    engines.find(is_named)
}
