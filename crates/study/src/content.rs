//! What was typed, value by value, with the place of each.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::name::Name;
use plan::{Action, Span, Spanned, ThresholdSpec, Value};

/// One key as it stands in the study.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    /// The key's own place.
    pub(crate) at: Span,
    /// `None`: faulty, and that has been said; a faulty key is not also a missing one.
    pub(crate) value: Option<Spanned<Value>>,
}

/// Entries by their full names.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// One axis of a sweep.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) name: Name,
    pub(crate) at: Span,
    pub(crate) values: Vec<Spanned<Value>>,
}

/// A named alternative: what it says instead of the file.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: Spanned<String>,
    pub(crate) entries: Entries,
}

/// A named size of the study: what it says instead of the file, where it is chosen.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    pub(crate) name: String,
    pub(crate) entries: Entries,
    pub(crate) axes: Vec<Axis>,
}

/// A table that the report is to show.
#[derive(Debug, Clone)]
pub(crate) struct TypedTable {
    pub(crate) rows: Spanned<String>,
    pub(crate) columns: Vec<Spanned<String>>,
}

/// Something that happens to a server during the measurement.
#[derive(Debug, Clone)]
pub(crate) struct TypedEvent {
    /// The key of its action.
    pub(crate) name: Name,
    pub(crate) at: Spanned<Duration>,
    pub(crate) action: Action,
    pub(crate) node: Spanned<u32>,
}

/// Everything that a study says.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    pub(crate) entries: Entries,
    pub(crate) axes: Vec<Axis>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) events: Vec<TypedEvent>,
    pub(crate) tables: Vec<TypedTable>,
    pub(crate) sizes: Vec<Size>,
    /// The one that was chosen: it is laid over the rest already.
    pub(crate) size: Option<String>,
    pub(crate) thresholds: Vec<ThresholdSpec>,
    /// Name of the variant that thresholds may be relative to.
    pub(crate) baseline: Option<Spanned<String>>,
}

/// Keys of which a trial has exactly one.
pub(crate) const EITHER: [&str; 2] = ["server.engine", "server.url"];

/// The values that trials start from before the sweep: the file's, with those
/// of one variant laid over them.
#[derive(Debug)]
pub(crate) struct Base<'a> {
    pub(crate) variant: Option<&'a Variant>,
    pub(crate) entries: BTreeMap<&'a str, &'a Entry>,
}

impl Content {
    /// One base for each variant; one in all for a study without them.
    pub(crate) fn bases(&self) -> Vec<Base<'_>> {
        if self.variants.is_empty() {
            return vec![self.base(None)];
        }
        self.variants.iter().map(|v| self.base(Some(v))).collect()
    }

    fn base<'a>(&'a self, variant: Option<&'a Variant>) -> Base<'a> {
        let by_name = |(name, entry): (&'a String, &'a Entry)| (name.as_str(), entry);
        let mut entries: BTreeMap<_, _> = self.entries.iter().map(by_name).collect();
        if let Some(variant) = variant {
            if EITHER
                .iter()
                .any(|name| variant.entries.contains_key(*name))
            {
                entries.retain(|name, _| !EITHER.contains(name));
            }
            entries.extend(variant.entries.iter().map(by_name));
        }
        Base { variant, entries }
    }

    pub(crate) fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name.full() == name)
    }

    /// Every value of a key wherever it stands.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Spanned<Value>> {
        let variants = self.variants.iter().filter_map(|v| v.entries.get(name));
        let entries = self.entries.get(name).into_iter().chain(variants);
        let swept = self.axis(name).into_iter().flat_map(|axis| &axis.values);
        entries
            .filter_map(|entry| entry.value.as_ref())
            .chain(swept)
    }

    /// The values that a key takes in the trials on one base.
    pub(crate) fn values_in<'a>(&'a self, base: &Base<'a>, name: &str) -> Vec<&'a Spanned<Value>> {
        match (self.axis(name), base.entries.get(name)) {
            (Some(axis), _) => axis.values.iter().collect(),
            (None, Some(entry)) => entry.value.iter().collect(),
            (None, None) => Vec::new(),
        }
    }

    /// Whether a key stands in the file or is an axis.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        let entry = self.entries.get(name).map(|entry| entry.at);
        entry.or_else(|| self.axis(name).map(|axis| axis.at))
    }

    /// How many trials there are, and its factors in words.
    pub(crate) fn size(&self, repeats: u64) -> (u64, String) {
        let mut factors = Vec::new();
        if !self.variants.is_empty() {
            factors.push((self.variants.len() as u64, " variants"));
        }
        factors.extend(self.axes.iter().map(|a| (a.values.len() as u64, "")));
        if repeats > 1 {
            factors.push((repeats, " repeats"));
        }
        let count = factors
            .iter()
            .fold(1u64, |n, (len, _)| n.saturating_mul(*len));
        let words: Vec<_> = factors
            .iter()
            .map(|(n, what)| format!("{n}{what}"))
            .collect();
        (count, words.join(" × "))
    }
}
