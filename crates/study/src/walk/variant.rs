//! `[[variant]]`: named alternatives to the values of the file.

use toml::de::{DeArray, DeTable, DeValue};

use super::{Walk, overrides};
use crate::content::{Giver, Part, Variant};
use crate::error::Report;
use crate::name::Name;
use crate::suggest;
use plan::key::{VARIANT, VARIANT_NAME};
use plan::{Origin, Span, Spanned, shown};

/// More than any study needs.
const MAX_VARIANTS: usize = 100;
pub(super) const HOW: &str =
    "write [[variant]] on its own line, and below it name = \"…\" and the keys it sets";

impl Walk {
    pub(super) fn variants(&mut self, list: &DeArray<'_>) {
        for (i, typed) in list.iter().enumerate() {
            let at = Span::new(Origin::File, typed.span());
            match typed.get_ref() {
                _ if i == MAX_VARIANTS => {
                    let message = format!("too many variants: {}", list.len());
                    let help = format!("a study has at most {MAX_VARIANTS} variants");
                    return self.refuse(at, message, help);
                }
                DeValue::Table(table) => self.variant(table, at),
                other => self.not_tables(VARIANT, other, at, HOW),
            }
        }
    }

    fn variant(&mut self, table: &DeTable<'_>, at: Span) {
        let (mut part, mut name) = (Part::default(), None);
        for (typed, value) in table.iter() {
            let key = typed.get_ref();
            if key == VARIANT_NAME.last() {
                name = Some(self.typed::<String>(&VARIANT_NAME, value, at.origin));
            } else {
                let at = Span::new(at.origin, typed.span());
                self.keys(Giver::Variant, key, value, at, &mut part);
            }
        }
        let Some(name) = name else {
            return self.refuse(at, "this variant has no name", HOW);
        };
        let index = self.content.variants.len();
        if let Some(name) = name.filter(|name| self.is_free(name, index)) {
            let entries = part.entries;
            self.content.variants.push(Variant { name, entries });
        }
    }

    /// Whether no variant but the one at `index` has this name; reports an error if another does.
    fn is_free(&self, name: &Spanned<String>, index: usize) -> bool {
        let mut variants = self.content.variants.iter().enumerate();
        let first = variants.find(|(i, v)| *i != index && v.name.value == name.value);
        if let Some((_, first)) = first {
            let message = format!("two variants have the name `{}`", shown(name));
            let (one, other) = (first.name.span, name.span);
            self.refuse_two(one, other, message, "give each variant a unique name");
            return false;
        }
        true
    }

    /// Applies an override to a variant: `rest` is `NAME.KEY` or `NAME.name`.
    pub(super) fn put_in_variant(&mut self, rest: &str, text: &str, at: Span) {
        let variants = self.content.variants.iter().enumerate();
        let found = variants.filter_map(|(i, variant)| Some((i, key_behind(variant, rest)?)));
        // Names may contain dots, so the longest name that fits counts.
        let Some((i, key)) = found.min_by_key(|(_, key)| key.len()) else {
            let variants = self.content.variants.iter();
            let names: Vec<_> = variants.map(|v| v.name.value.as_str()).collect();
            let help = suggest::variant_of_override(&names);
            return self.refuse(at, format!("no variant matches `{}`", shown(rest)), help);
        };
        if key == VARIANT_NAME.last() {
            let name = self.typed::<String>(&VARIANT_NAME, &overrides::text(text), at.origin);
            if let Some(name) = name.filter(|name| self.is_free(name, i)) {
                self.content.variants[i].name = name;
            }
            return;
        }
        let known = Name::find(key).ok().flatten();
        let full = known.as_ref().map_or(key, Name::full).to_owned();
        let typed = overrides::value(known.as_ref(), text);
        let mut part = Part::default();
        self.keys(Giver::Variant, &full, &typed, at, &mut part);
        self.content.variants[i].replace(part.entries);
    }
}

/// The key that `rest` names of this variant, if it begins with its name.
fn key_behind<'a>(variant: &Variant, rest: &'a str) -> Option<&'a str> {
    let name = variant.name.value.as_str();
    let unquoted = || {
        let quoted = rest.strip_prefix(['"', '\''])?;
        quoted.strip_prefix(name)?.strip_prefix(['"', '\''])
    };
    let behind = rest.strip_prefix(name).or_else(unquoted)?;
    behind.strip_prefix('.')
}
