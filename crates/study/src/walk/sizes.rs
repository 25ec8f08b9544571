//! `[sizes.NAME]`: values that replace those of the file with `--set sizes=NAME`.

use toml::de::{DeTable, DeValue};

use super::{TomlValue, Walk, leaves};
use crate::content::{Axis, Entries, Size};
use crate::name::Name;
use crate::read::type_words;
use crate::suggest;
use plan::key::{SIZES, SWEEP};
use plan::{Origin, Span, nearest, shown};

/// More than any study needs.
const MAX_SIZES: usize = 20;
const MAX_NAME_BYTES: usize = 60;

impl Walk {
    pub(super) fn sizes(&mut self, table: &DeTable<'_>) {
        for (typed, value) in table.iter() {
            let (name, at) = (typed.get_ref(), Span::new(Origin::File, typed.span()));
            match value.get_ref() {
                DeValue::Table(table) => self.size(name, table, at),
                other => {
                    let message = format!("`{SIZES}` has named tables, not {}", type_words(other));
                    let help = "write [sizes.large] on its own line, and its keys below";
                    self.refuse(at, message, help);
                }
            }
        }
    }

    fn size(&mut self, name: &str, table: &DeTable<'_>, at: Span) {
        let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.chars().all(fits) {
            let message = format!("`{}` is not a valid name of a size", shown(name));
            let help = format!(
                "a name has letters, digits, `_` or `-`, at most {MAX_NAME_BYTES} characters"
            );
            return self.refuse(at, message, help);
        }
        if self.content.sizes.len() == MAX_SIZES {
            let message = format!("too many sizes: `{name}`");
            let help = format!("a study has at most {MAX_SIZES} sizes");
            return self.refuse(at, message, help);
        }
        let mut size = Size {
            name: name.to_owned(),
            entries: Entries::new(),
            axes: Vec::new(),
        };
        leaves(
            "",
            table,
            Origin::File,
            &mut |key, value, at| match key.split_once('.') {
                Some((SWEEP, axis)) => self.axis_of_size(axis, value, at, &mut size),
                _ => self.key_of_size(&key, value, at, &mut size),
            },
        );
        self.content.sizes.push(size);
    }

    fn key_of_size(&mut self, key: &str, value: &TomlValue<'_>, at: Span, size: &mut Size) {
        let Some(name) = self.find(key, at, || suggest::key_of_size(key)) else {
            return;
        };
        match size.axes.iter().find(|a| a.name.full() == name.full()) {
            Some(axis) => self.twice(&name, axis.at, at),
            None => self.key_of_part("size", name, value, at, &mut size.entries),
        }
    }

    fn axis_of_size(&mut self, key: &str, value: &TomlValue<'_>, at: Span, size: &mut Size) {
        let Some(axis) = self.axis(key, value, at) else {
            return;
        };
        let same = |other: &&Axis| other.name.full() == axis.name.full();
        let entry = size.entries.get(axis.name.full()).map(|entry| entry.at);
        let other = entry.or_else(|| size.axes.iter().find(same).map(|axis| axis.at));
        match other {
            Some(other) => self.twice(&axis.name, other, at),
            None => size.axes.push(axis),
        }
    }

    fn twice(&mut self, name: &Name, one: Span, other: Span) {
        let message = format!("duplicate key `{}` in this size", name.full());
        self.refuse_two(one, other, message, "keep one of the two");
    }

    /// Replaces values of the file with those of a size.
    pub(super) fn choose(&mut self, name: &str, at: Span) {
        let sizes = &self.content.sizes;
        let Some(size) = sizes.iter().find(|size| size.name == name).cloned() else {
            let names: Vec<_> = sizes.iter().map(|size| size.name.as_str()).collect();
            let help = match nearest(name, names.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None if names.is_empty() => {
                    format!(
                        "this study has no sizes: define them in the file, under [{SIZES}.NAME]"
                    )
                }
                None => format!("this study has the sizes {}", names.join(", ")),
            };
            let message = format!("there is no size `{}`", shown(name));
            return self.refuse(at, message, help);
        };
        for entry in size.entries.into_values() {
            self.forget(entry.name.full());
            self.put_entry(entry);
        }
        for axis in size.axes {
            self.forget(axis.name.full());
            self.put_axis(axis);
        }
        self.content.size = Some(size.name);
    }
}
