//! Values below a table, by their dotted names.

use toml::de::{DeTable, DeValue};

use super::TomlValue;
use plan::{Origin, Span};

/// No name of a key has more parts; a deeper table cannot be one.
const MAX_PARTS: usize = 8;
/// No name of a key is longer. Without this limit many keys below one long
/// name would take time in the product of both.
const MAX_NAME_BYTES: usize = 300;

/// Finds every value below `table`: `a.b = 1` without quotes is a table in a
/// table, and the same as `"a.b" = 1`.
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
