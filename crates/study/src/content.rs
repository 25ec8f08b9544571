//! The content of a study as written: dotted keys that carry their places.

use std::collections::BTreeMap;

use crate::name::Name;
use crate::point::{AGENTS, ENGINE, FROM, LISTEN, NATS, URL};
use plan::key::VARIANT;
use plan::{Span, Spanned, TableSpec, ThresholdSpec, Value};

#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: Name,
    pub(crate) at: Span,
    /// `None` for an invalid value, which has been reported: the key is not missing as well.
    pub(crate) value: Option<Spanned<Value>>,
}

pub(crate) type Entries = BTreeMap<String, Entry>;

/// An axis of the sweep: an entry for each value, and at least one.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    pub(crate) name: Name,
    pub(crate) at: Span,
    pub(crate) values: Vec<Entry>,
}

/// The part of a study that gives a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Giver {
    File,
    Variant,
    Size,
    Override,
}

/// The keys of one part of a study: the file, a variant, a size, or the overrides.
#[derive(Debug, Clone, Default)]
pub(crate) struct Part {
    pub(crate) entries: Entries,
    pub(crate) axes: Vec<Axis>,
}

impl Part {
    pub(crate) fn axis(&self, name: &str) -> Option<&Axis> {
        self.axes.iter().find(|axis| axis.name.full() == name)
    }
}

/// A named alternative: the values that replace those of the file.
#[derive(Debug, Clone)]
pub(crate) struct Variant {
    pub(crate) name: Spanned<String>,
    pub(crate) entries: Entries,
}

impl Variant {
    /// Replaces its values by these, and the keys that they exclude.
    pub(crate) fn replace(&mut self, entries: Entries) {
        let excluded = |name: &str| excludes(name).is_some_and(|other| entries.contains_key(other));
        self.entries.retain(|name, _| !excluded(name));
        self.entries.extend(entries);
    }
}

/// Replacements for values of the file, used if this size is chosen.
#[derive(Debug, Clone, Default)]
pub(crate) struct Size {
    pub(crate) part: Part,
    pub(crate) variants: Vec<Variant>,
    /// Replace all faults of the file, unless there are none here.
    pub(crate) faults: Vec<TypedFault>,
}

/// Something that is broken during the measurement.
#[derive(Debug, Clone)]
pub(crate) struct TypedFault {
    /// Its seed is still to be drawn unless `has_seed`.
    pub(crate) fault: plan::Fault,
    pub(crate) has_seed: bool,
    /// The location of the key that names its kind.
    pub(crate) kind: Span,
    /// The locations of its target and of the options that it has.
    pub(crate) places: BTreeMap<&'static str, Span>,
}

impl TypedFault {
    /// The location of an option, or of its kind.
    pub(crate) fn place(&self, option: &str) -> Span {
        self.places.get(option).copied().unwrap_or(self.kind)
    }
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Content {
    /// What all variants have in common.
    pub(crate) common: Part,
    pub(crate) variants: Vec<Variant>,
    pub(crate) faults: Vec<TypedFault>,
    pub(crate) tables: Vec<TableSpec>,
    /// By name.
    pub(crate) sizes: BTreeMap<String, Size>,
    /// The chosen size, which has already replaced the values of the file.
    pub(crate) size: Option<String>,
    pub(crate) thresholds: Vec<ThresholdSpec>,
    /// Name of the variant that thresholds may be relative to.
    pub(crate) baseline: Option<Spanned<String>>,
}

/// Each trial has at most one of these keys.
const EITHER: [[&str; 2]; 3] = [[ENGINE, URL], [FROM, AGENTS], [NATS, LISTEN]];

/// The key that another one excludes.
fn excludes(key: &str) -> Option<&'static str> {
    EITHER.into_iter().find_map(|[one, other]| match key {
        _ if key == one => Some(other),
        _ if key == other => Some(one),
        _ => None,
    })
}

impl Content {
    /// The values of trials before the sweep: those of the file, with those of a variant in their
    /// place.
    pub(crate) fn before_sweep<'a>(
        &'a self,
        variant: Option<&'a Variant>,
    ) -> BTreeMap<&'a str, &'a Entry> {
        let by_name = |(name, entry): (&'a String, &'a Entry)| (name.as_str(), entry);
        let mut entries: BTreeMap<_, _> = self.common.entries.iter().map(by_name).collect();
        if let Some(variant) = variant {
            let has = |name: &str| variant.entries.contains_key(name);
            entries.retain(|name, _| !excludes(name).is_some_and(has));
            entries.extend(variant.entries.iter().map(by_name));
        }
        entries
    }

    /// Puts a part in the place of what the file and its variants have of the same keys. An axis
    /// keeps its position; if only its key is given, it keeps that one value.
    pub(crate) fn overlay(&mut self, part: Part) {
        let axes = part.axes.iter().map(|axis| axis.name.full());
        for name in part.entries.keys().map(String::as_str).chain(axes) {
            self.forget(name);
        }
        for (name, entry) in part.entries {
            let axes = &mut self.common.axes;
            match axes.iter_mut().find(|axis| axis.name.full() == name) {
                Some(axis) => {
                    (axis.at, axis.values) = (entry.at, vec![entry]);
                }
                None => {
                    self.common.entries.insert(name, entry);
                }
            }
        }
        for axis in part.axes {
            let mut axes = self.common.axes.iter_mut();
            match axes.find(|known| known.name.full() == axis.name.full()) {
                Some(known) => *known = axis,
                None => self.common.axes.push(axis),
            }
        }
    }

    /// Removes a key, those below it, and that which excludes it. An axis of this key stays.
    pub(crate) fn forget(&mut self, key: &str) {
        let is_below = |name: &str| name.strip_prefix(key).is_some_and(|n| n.starts_with('.'));
        let stays = |name: &str| !is_below(name) && excludes(key) != Some(name);
        let parts = self.variants.iter_mut().map(|variant| &mut variant.entries);
        for entries in parts.chain([&mut self.common.entries]) {
            entries.retain(|name, _| name != key && stays(name));
        }
        self.common.axes.retain(|axis| stays(axis.name.full()));
        if key == "report.tables" {
            self.tables.clear();
        }
    }

    /// Every value of a key, in the file, the sweep, and the variants.
    pub(crate) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Spanned<Value>> {
        self.all(name).filter_map(|entry| entry.value.as_ref())
    }

    /// The first location of a key in the file, the sweep, or a variant.
    pub(crate) fn place(&self, name: &str) -> Option<Span> {
        self.all(name).map(|entry| entry.at).next()
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Entry> {
        let in_file = self.common.entries.get(name).into_iter();
        let swept = self.common.axis(name).into_iter();
        let in_variants = self.variants.iter().filter_map(|v| v.entries.get(name));
        in_file
            .chain(swept.flat_map(|axis| &axis.values))
            .chain(in_variants)
    }

    /// The names of the axes, the variants' first.
    pub(crate) fn axes(&self) -> Vec<&str> {
        let variant = (!self.variants.is_empty()).then_some(VARIANT);
        let swept = self.common.axes.iter().map(|axis| axis.name.full());
        variant.into_iter().chain(swept).collect()
    }

    /// Number of combinations of values of the axes.
    pub(crate) fn combinations(&self) -> usize {
        let counts = self.common.axes.iter().map(|axis| axis.values.len());
        counts.fold(1, usize::saturating_mul)
    }
}
