//! `[[variant]]`: named alternatives to what the file says.

use toml::de::{DeArray, DeTable, DeValue};

use super::leaves::leaves;
use super::{Typed, Walk};
use crate::content::{Entries, Variant};
use crate::error::Fault;
use crate::key::{Name, VARIANT_NAME};
use crate::likely;
use crate::read::type_words;
use crate::span::{Origin, Span};
use crate::suggest::shown;

/// More than a reader tells apart.
const MAX_VARIANTS: usize = 100;
const HOW: &str =
    "write [[variant]] on a line of its own, and below it name = \"…\" and the keys it sets";

impl Walk {
    pub(super) fn variants(&mut self, list: &DeArray<'_>) {
        for (i, typed) in list.iter().enumerate() {
            let at = Span::new(Origin::File, typed.span());
            match typed.get_ref() {
                _ if i == MAX_VARIANTS => {
                    let message = format!("there are {} variants", list.len());
                    let help = format!("a study has at most {MAX_VARIANTS}");
                    return self.faults.add(at, Fault::new(message, help));
                }
                DeValue::Table(table) => self.variant(table, at),
                other => self.not_variants(other, at),
            }
        }
    }

    pub(super) fn not_variants(&mut self, value: &DeValue<'_>, at: Span) {
        let found = match value {
            DeValue::Table(_) => "one table",
            other => type_words(other),
        };
        let message = format!("`variant` is a list of tables, not {found}");
        self.faults.add(at, Fault::new(message, HOW));
    }

    fn variant(&mut self, table: &DeTable<'_>, at: Span) {
        let mut entries = Entries::new();
        let (mut name, mut is_named) = (None, false);
        leaves("", table, Origin::File, &mut |key, value, at| {
            if key == VARIANT_NAME.last() {
                is_named = true;
                name = self.text(&VARIANT_NAME, value, Origin::File);
            } else {
                self.key_of_variant(&key, value, at, &mut entries);
            }
        });
        if !is_named {
            self.faults
                .add(at, Fault::new("this variant has no name", HOW));
        }
        let Some(name) = name else { return };
        let mut others = self.content.variants.iter();
        if let Some(first) = others.find(|v| v.name.value == name.value) {
            let message = format!("two variants have the name `{}`", shown(&name));
            let fault = Fault::new(message, "give each a name of its own");
            return self.faults.add_of_two(first.name.span, name.span, fault);
        }
        self.content.variants.push(Variant { name, entries });
    }

    fn key_of_variant(&mut self, key: &str, value: &Typed<'_>, at: Span, into: &mut Entries) {
        match Name::find(key) {
            Ok(Some(name)) if name.key.axis => self.entry(name, value, at, into),
            Ok(Some(name)) => {
                let message = format!("a variant cannot set `{}`", name.full());
                let help = "it is the same in every trial: write it outside the variants";
                self.faults.add(at, Fault::new(message, help));
            }
            Ok(None) => self.unknown("key", key, at, || likely::key_of_variant(key)),
            Err(fault) => self.faults.add(at, fault),
        }
    }
}
