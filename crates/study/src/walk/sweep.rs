//! `[sweep]`: the axes of a study.

use std::collections::HashSet;

use toml::de::DeValue;

use super::{TomlValue, Walk};
use crate::check::MAX_TRIALS;
use crate::content::{Axis, Entry, Part};
use crate::error::Report;
use crate::name::Name;
use crate::suggest;
use crate::syntax::type_words;
use plan::{Span, grouped, shown};

/// More than any study needs. Each trial has a value on each axis.
const MAX_AXES: usize = 20;

impl Walk {
    pub(super) fn axis(&mut self, name: &str, value: &TomlValue<'_>, at: Span, into: &mut Part) {
        let name = match Name::find(name) {
            Ok(Some(found)) if found.key.axis => found,
            Ok(_) => return self.unknown("axis", name, at, || suggest::axis(name)),
            Err(error) => return self.add(at, error),
        };
        if !self.has_room_for(&name, at) {
            return;
        }
        let mut values = self.axis_values(&name, value, at);
        if values.is_empty() {
            let (name, value) = (name.clone(), None);
            values.push(Entry { name, at, value });
        }
        if let Some(first) = into.axis(name.full()) {
            let message = format!("duplicate axis `{}`", name.full());
            self.refuse_two(first.at, at, message, "put all values in one list");
        } else if into.axes.len() == MAX_AXES {
            let message = format!("too many axes: `{}`", name.full());
            let help = format!("a study has at most {MAX_AXES} axes");
            self.refuse(at, message, help);
        } else {
            into.axes.push(Axis { name, at, values });
        }
    }

    fn axis_values(&mut self, name: &Name, value: &TomlValue<'_>, at: Span) -> Vec<Entry> {
        let span = Span::new(at.origin, value.span());
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
        let (mut known, mut values) = (HashSet::new(), Vec::new());
        for typed in list.iter() {
            let Some(value) = self.value(name, typed, at.origin) else {
                continue;
            };
            let text = value.to_string();
            let message = format!("duplicate value {} in the axis `{full}`", shown(&text));
            // Equal values would make trials that are indistinguishable.
            if !known.insert(text) {
                let help = "remove one of the two; to repeat trials, use `load.repeats`";
                self.refuse(value.span, message, help);
            }
            let (name, value) = (name.clone(), Some(value));
            values.push(Entry { name, at, value });
        }
        values
    }
}
