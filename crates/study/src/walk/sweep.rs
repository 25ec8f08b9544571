//! `[sweep]`: the axes of a study.

use std::collections::HashSet;

use toml::de::{DeTable, DeValue};

use super::{TomlValue, Walk, leaves};
use crate::content::Axis;
use crate::name::Name;
use crate::read::type_words;
use crate::study::MAX_TRIALS;
use crate::suggest;
use plan::{Origin, Span, Spanned, Value, grouped, shown};

/// More than any study needs. Each trial has a value on each axis.
const MAX_AXES: usize = 20;

impl Walk {
    pub(super) fn sweep(&mut self, table: &DeTable<'_>) {
        leaves("", table, Origin::File, &mut |name, value, at| {
            if let Some(axis) = self.axis(&name, value, at) {
                self.add_axis(axis);
            }
        });
    }

    fn add_axis(&mut self, axis: Axis) {
        if let Some(first) = self.content.axis(axis.name.full()) {
            let message = format!("duplicate axis `{}`", axis.name.full());
            self.refuse_two(first.at, axis.at, message, "put all values in one list");
        } else if self.content.axes.len() == MAX_AXES {
            let message = format!("too many axes: `{}`", axis.name.full());
            let help = format!("a study has at most {MAX_AXES} axes");
            self.refuse(axis.at, message, help);
        } else {
            self.content.axes.push(axis);
        }
    }

    /// An axis with those of its values that are valid.
    pub(super) fn axis(&mut self, name: &str, value: &TomlValue<'_>, at: Span) -> Option<Axis> {
        let name = match Name::find(name) {
            Ok(Some(found)) if found.key.axis => found,
            Ok(_) => {
                self.unknown("axis", name, at, || suggest::axis(name));
                return None;
            }
            Err(diagnostic) => {
                self.diagnostics.add(at, diagnostic);
                return None;
            }
        };
        if !self.has_room_for(&name, at) {
            return None;
        }
        let values = self.axis_values(&name, value, at.origin);
        Some(Axis { name, at, values })
    }

    fn axis_values(
        &mut self,
        name: &Name,
        value: &TomlValue<'_>,
        origin: Origin,
    ) -> Vec<Spanned<Value>> {
        let span = Span::new(origin, value.span());
        let full = name.full();
        let DeValue::Array(list) = value.get_ref() else {
            let found = type_words(value.get_ref());
            let message = format!("the axis `{full}` takes a list, not {found}");
            let help = format!("write \"{full}\" = [value, value, …]");
            self.refuse(span, message, help);
            return Vec::new();
        };
        if list.is_empty() {
            let message = format!("the axis `{full}` has no values");
            self.refuse(span, message, "add a value, or remove the axis");
        }
        if list.len() > MAX_TRIALS {
            let message = format!("the axis `{full}` has {} values", list.len());
            let help = format!("a study has at most {} trials", grouped(MAX_TRIALS as u64));
            self.refuse(span, message, help);
            return Vec::new();
        }
        let values: Vec<_> = list
            .iter()
            .filter_map(|v| self.value(name, v, origin))
            .collect();
        self.refuse_duplicates(full, &values);
        values
    }

    /// Equal values would make trials that are indistinguishable.
    fn refuse_duplicates(&mut self, axis: &str, values: &[Spanned<Value>]) {
        let mut known = HashSet::new();
        for value in values {
            let text = value.to_string();
            let message = format!("duplicate value {} in the axis `{axis}`", shown(&text));
            if !known.insert(text) {
                let help = "remove one of the two; to repeat trials, use `load.repeats`";
                self.refuse(value.span, message, help);
            }
        }
    }
}
