//! `[[load.mix]]` and `[[load.phase]]`: lists of tables, each of which also has a form as text.

use toml::de::{DeArray, DeTable, DeValue};

use super::Walk;
use crate::error::Report;
use crate::name::Name;
use crate::read::read;
use crate::syntax::type_words;
use plan::key::Kind;
use plan::{Origin, Span, Spanned, did_you_mean, listed};

/// The keys of a table in the order of its text, each with what is before and after its value.
type Fields = &'static [(&'static str, &'static str, &'static str)];

const OF_MIX: Fields = &[("workload", "", ""), ("weight", ":", ""), ("rate", ":", "/s")];
const OF_PHASE: Fields = &[
    ("name", "", ": "),
    ("time", "", " "),
    ("rate", "", "/s"),
    ("threads", "", " threads"),
];

impl Walk {
    /// The text that a list of tables stands for. Reports those that are invalid.
    pub(super) fn items(
        &mut self,
        key: &Name,
        list: &DeArray<'_>,
        origin: Origin,
    ) -> Option<String> {
        let items = list.iter().map(|typed| {
            let at = Span::new(origin, typed.span());
            match typed.get_ref() {
                DeValue::Table(table) => self.item(key, table, at),
                other => {
                    let help = format!("write [[{}]] on its own line", key.full());
                    self.not_tables(key.full(), other, at, &help);
                    None
                }
            }
        });
        // All of them, to report each.
        let items: Vec<Option<String>> = items.collect();
        let items: Option<Vec<String>> = items.into_iter().collect();
        Some(items?.join(", "))
    }

    fn item(&mut self, key: &Name, table: &DeTable<'_>, at: Span) -> Option<String> {
        let fields = match key.key.kind {
            Kind::Mix => OF_MIX,
            _ => OF_PHASE,
        };
        let names = || fields.iter().map(|(name, ..)| *name);
        for typed in table.keys() {
            let (name, at) = (typed.get_ref().as_ref(), Span::new(at.origin, typed.span()));
            if !names().any(|known| known == name) {
                let all = || format!("`{}` has {}", key.full(), listed(names()));
                let help = || did_you_mean(name, names()).unwrap_or_else(all);
                self.unknown("key", name, at, help);
            }
        }
        let mut text = String::new();
        for (name, before, after) in fields {
            let Some(value) = table.get(*name) else {
                continue;
            };
            let (value, at) = (value.get_ref(), Span::new(at.origin, value.span()));
            let Some(plain) = plain(value) else {
                let message = format!("`{name}` is not {}", type_words(value));
                self.refuse(at, message, "write a string, a number, or two numbers in a list");
                return None;
            };
            text.extend([*before, plain.as_str(), *after]);
            if *name == "workload" {
                self.content.workloads.push(Spanned::new(plain, at));
            }
        }
        let read = read(key, &DeValue::String(text.into()));
        let read = read.map_err(|error| self.add(at, error)).ok();
        read.map(|item| item.to_string())
    }
}

/// A value as in the text of a table: a list of two numbers is a range.
fn plain(value: &DeValue<'_>) -> Option<String> {
    Some(match value {
        DeValue::String(text) => text.to_string(),
        DeValue::Integer(number) => number.as_str().to_owned(),
        DeValue::Float(number) => number.as_str().to_owned(),
        DeValue::Array(list) => match &**list {
            [from, to] => format!("{}..{}", plain(from.get_ref())?, plain(to.get_ref())?),
            _ => return None,
        },
        _ => return None,
    })
}
