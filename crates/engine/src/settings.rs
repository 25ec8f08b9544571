//! Settings as reported by servers, limited in size.

use std::collections::BTreeMap;

use crate::configuration::lists;
use crate::remote::Rows;

pub type Settings = [(String, String)];

/// Maximum number of settings; no server has as many.
const MAX_SETTINGS: usize = 2000;
/// Maximum length of a value in a result, in characters.
const MAX_VALUE_CHARS: usize = 1000;
/// Maximum length of a value for checks, in characters.
const MAX_CHECKED_CHARS: usize = 200;
/// Replaces the value of a secret.
const HIDDEN: &str = "(hidden)";

/// Settings that differ from the defaults, from rows of name and value, without those in
/// `per_server`.
pub(crate) fn changed(
    rows: Rows,
    per_server: &str,
    is_secret: fn(&str, &str) -> bool,
) -> Vec<(String, String)> {
    let shared = pairs(rows).filter(|(name, _)| !lists(per_server, name));
    let shown = shared.map(|(name, value)| {
        let value = match is_secret(&name, &value) {
            true => HIDDEN.to_owned(),
            false => value.chars().take(MAX_VALUE_CHARS).collect(),
        };
        (name, value)
    });
    shown.collect()
}

/// Settings for checks, from rows of name and value.
pub(crate) fn checked(rows: Rows) -> BTreeMap<String, String> {
    let cut = |value: String| value.chars().take(MAX_CHECKED_CHARS).collect();
    pairs(rows)
        .map(|(name, value)| (name.to_ascii_lowercase(), cut(value)))
        .collect()
}

fn pairs(rows: Rows) -> impl Iterator<Item = (String, String)> {
    let pairs = rows.into_iter().filter_map(|row| {
        let mut cells = row.into_iter();
        Some((cells.next()??, cells.next()??))
    });
    pairs.take(MAX_SETTINGS)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Settings of a study.
    pub(crate) fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    #[test]
    fn secrets_are_hidden_and_values_are_cut() {
        let row = |name: &str, value: &str| vec![Some(name.to_owned()), Some(value.to_owned())];
        let rows = vec![
            row("a", &"x".repeat(5000)),
            row("b", "secret"),
            vec![Some("c".to_owned()), None],
            row("port", "1"),
        ];
        let changed = changed(rows.clone(), "port", |name, _| name == "b");
        assert_eq!(changed.len(), 2);
        assert_eq!(changed[0].1.len(), MAX_VALUE_CHARS);
        assert_eq!(changed[1].1, HIDDEN);
        assert_eq!(checked(rows)["a"].len(), MAX_CHECKED_CHARS);
    }
}
