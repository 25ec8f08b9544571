//! The values in a table and its subtables, by their dotted names.

use toml::de::{DeTable, DeValue};

use super::TomlValue;
use plan::{Origin, Span};

/// No key has a name of more parts, so deeper tables need not be entered.
const MAX_PARTS: usize = 8;
/// No key has a longer name. Without this limit, many keys below a long name would take time
/// proportional to the product of both.
const MAX_NAME_BYTES: usize = 300;

/// Finds every value below `table`: the unquoted key `a.b` is a nested table, equivalent to
/// `"a.b"`.
pub(super) fn leaves(
    prefix: &str,
    table: &DeTable<'_>,
    origin: Origin,
    found: &mut dyn FnMut(String, &TomlValue<'_>, Span),
) {
    for (typed, value) in table.iter() {
        let name = joined(prefix, typed.get_ref());
        let can_be_longer = name.len() <= MAX_NAME_BYTES && name.matches('.').count() < MAX_PARTS;
        match value.get_ref() {
            DeValue::Table(inner) if can_be_longer => leaves(&name, inner, origin, found),
            _ => found(name, value, Span::new(origin, typed.span())),
        }
    }
}

pub(super) fn joined(section: &str, key: &str) -> String {
    if section.is_empty() {
        key.to_owned()
    } else {
        format!("{section}.{key}")
    }
}
