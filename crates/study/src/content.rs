//! The content of a study as written: each value with its location.

use std::collections::BTreeMap;

use crate::name::Name;
use plan::{Span, Spanned, ThresholdSpec, Value};

/// A key and its value.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    /// The location of the key.
    pub(crate) at: Span,
    /// `None` for an invalid value, which has been reported: the key is not missing as well.
    pub(crate) value: Option<Spanned<Value>>,
}

/// Entries by their full names.
pub(crate) type Entries = BTreeMap<String, Entry>;

/// An axis of the sweep.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) name: Name,
    pub(crate) at: Span,
    pub(crate) values: Vec<Spanned<Value>>,
}

/// A named alternative: the values that replace those of the file.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: Spanned<String>,
    pub(crate) entries: Entries,
}

/// A named size of the study: the values and axes that replace those of the file if it is
/// chosen.
#[derive(Debug, Clone)]
pub(crate) struct Size {
    pub(crate) name: String,
    pub(crate) entries: Entries,
    pub(crate) axes: Vec<Axis>,
}

/// A table of the report.
#[derive(Debug, Clone)]
pub(crate) struct TypedTable {
    pub(crate) rows: Spanned<String>,
    pub(crate) columns: Vec<Spanned<String>>,
}

/// Something that is broken during the measurement.
#[derive(Debug, Clone)]
pub(crate) struct TypedFault {
    /// Its seed is still to be drawn unless `has_seed`.
    pub(crate) fault: plan::Fault,
    pub(crate) has_seed: bool,
    /// The location of the key that names its kind.
    pub(crate) kind: Span,
    pub(crate) at: Span,
    /// The locations of its target and of the options that it has.
    pub(crate) places: BTreeMap<&'static str, Span>,
}

impl TypedFault {
    /// The location of an option, or of its kind.
    pub(crate) fn place(&self, option: &str) -> Span {
        self.places.get(option).copied().unwrap_or(self.kind)
    }
}

/// The whole content of a study.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    pub(crate) entries: Entries,
    pub(crate) axes: Vec<Axis>,
    pub(crate) variants: Vec<Variant>,
    pub(crate) faults: Vec<TypedFault>,
    pub(crate) tables: Vec<TypedTable>,
    pub(crate) sizes: Vec<Size>,
    /// The chosen one, which has already replaced the values of the file.
    pub(crate) size: Option<String>,
    pub(crate) thresholds: Vec<ThresholdSpec>,
    /// Name of the variant that thresholds may be relative to.
    pub(crate) baseline: Option<Spanned<String>>,
}

/// Each trial has exactly one of these keys.
pub(crate) const EITHER: [&str; 2] = ["server.engine", "server.url"];

/// The values of trials before the sweep: those of the file, with those of one variant in
/// their place.
#[derive(Debug)]
pub(crate) struct Base<'a> {
    pub(crate) variant: Option<&'a Variant>,
    pub(crate) entries: BTreeMap<&'a str, &'a Entry>,
}

impl Content {
    /// One for each variant, or a single one for a study without variants.
    pub(crate) fn bases(&self) -> Vec<Base<'_>> {
        if self.variants.is_empty() {
            return vec![self.base(None)];
        }
        self.variants.iter().map(|v| self.base(Some(v))).collect()
    }

    pub(crate) fn base<'a>(&'a self, variant: Option<&'a Variant>) -> Base<'a> {
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

    /// Every value of a key, in the file, the variants and the sweep.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Spanned<Value>> {
        let swept = self.axis(name).into_iter().flat_map(|axis| &axis.values);
        let entries = self.entries_of(name);
        entries
            .filter_map(|entry| entry.value.as_ref())
            .chain(swept)
    }

    fn entries_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> {
        let variants = self.variants.iter().filter_map(|v| v.entries.get(name));
        self.entries.get(name).into_iter().chain(variants)
    }

    /// The first location of a key in the file, the sweep, or a variant.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        let in_file = self.entries.get(name).map(|entry| entry.at);
        let swept = || self.axis(name).map(|axis| axis.at);
        let in_variant = || self.entries_of(name).map(|entry| entry.at).next();
        in_file.or_else(swept).or_else(in_variant)
    }

    /// Number of combinations of values of the axes.
    pub(crate) fn combinations(&self) -> usize {
        let counts = self.axes.iter().map(|axis| axis.values.len().max(1));
        counts.fold(1, usize::saturating_mul)
    }
}
