//! `[sizes.NAME]`: values that replace those of the file with `--set sizes=NAME`.

use toml::de::{DeTable, DeValue};

use super::Walk;
use crate::content::{Giver, Part, Size, Variant};
use crate::error::Report;
use crate::syntax::type_words;
use plan::key::{FAULT, SIZES, VARIANT};
use plan::{Origin, Span, Spanned, did_you_mean, shown};

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
        let mut size = Size::default();
        for (typed, value) in table.iter() {
            let at = Span::new(Origin::File, typed.span());
            match (typed.get_ref().as_ref(), value.get_ref()) {
                (FAULT, DeValue::Array(list)) => size.faults = self.faults(list),
                (FAULT, other) => {
                    let help = format!(
                        "write [[{SIZES}.{name}.{FAULT}]] on its own line, and the keys of the fault below"
                    );
                    self.not_tables(FAULT, other, at, &help);
                }
                (VARIANT, DeValue::Table(table)) => size.variants = self.variants_of_size(table),
                (name, _) => self.keys(Giver::Size, name, value, at, &mut size.part),
            }
        }
        for axis in &size.part.axes {
            if let Some(entry) = size.part.entries.get(axis.name.full()) {
                let message = format!("duplicate key `{}` in this size", axis.name.full());
                self.refuse_two(entry.at, axis.at, message, "keep one of the two");
            }
        }
        self.content.sizes.insert(name.to_owned(), size);
    }

    /// `[sizes.NAME.variant.NAME]`: values of variants.
    fn variants_of_size(&mut self, table: &DeTable<'_>) -> Vec<Variant> {
        let mut variants = Vec::new();
        for (typed, value) in table.iter() {
            let span = Span::new(Origin::File, typed.span());
            let DeValue::Table(table) = value.get_ref() else {
                let help = "write variant.NAME.KEY = VALUE";
                self.refuse(span, "a variant has keys, not a value", help);
                continue;
            };
            let mut part = Part::default();
            for (key, value) in table.iter() {
                let at = Span::new(Origin::File, key.span());
                self.keys(Giver::Variant, key.get_ref(), value, at, &mut part);
            }
            let (value, entries) = (typed.get_ref().to_string(), part.entries);
            let name = Spanned { value, span };
            variants.push(Variant { name, entries });
        }
        variants
    }

    /// Replaces values of the file with those of a size.
    pub(super) fn choose(&mut self, name: &str, at: Span) {
        if let Some(size) = self.content.sizes.get(name).cloned() {
            self.content.overlay(size.part);
            if !size.faults.is_empty() {
                self.content.faults = size.faults;
            }
            for Variant { name, entries } in size.variants {
                let mut known = self.content.variants.iter_mut();
                match known.find(|known| known.name.value == name.value) {
                    Some(known) => known.replace(entries),
                    None => {
                        let message = format!("there is no variant `{}`", shown(&name));
                        self.refuse(name.span, message, "name a variant of the file");
                    }
                }
            }
            self.content.size = Some(name.to_owned());
            return;
        }
        let names: Vec<_> = self.content.sizes.keys().map(String::as_str).collect();
        let known = || match names.is_empty() {
            true => {
                format!("this study has no sizes: define them in the file, under [{SIZES}.NAME]")
            }
            false => format!("this study has the sizes {}", names.join(", ")),
        };
        let help = did_you_mean(name, names.iter().copied()).unwrap_or_else(known);
        self.refuse(at, format!("there is no size `{}`", shown(name)), help);
    }
}
