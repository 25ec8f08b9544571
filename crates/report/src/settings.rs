//! Server settings that differ from their defaults.

use std::collections::BTreeMap;

use measure::result::RunResult;

use crate::grid::{Grid, heads};
use crate::list::listed;

/// The settings of all servers of all trials, in order of name.
pub(crate) fn grid(result: &RunResult) -> Grid {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in instances.flat_map(|instance| &instance.settings) {
        let value = if value.is_empty() { "(empty)" } else { value };
        let known = values.entry(name).or_default();
        if !known.contains(&value) {
            known.push(value);
        }
    }
    let rows = values.into_iter();
    let rows: Vec<Vec<String>> = rows
        .map(|(name, values)| vec![name.to_owned(), listed(&values)])
        .collect();
    Grid {
        caption: format!("{} server settings differ from their defaults.", rows.len()),
        heads: heads(["setting", "value"]),
        keys: 1,
        words: 1,
        rows,
        ..Grid::default()
    }
}
