//! Server settings that differ from their defaults.

use std::collections::BTreeMap;

use measure::instance::InstanceSummary;
use measure::result::RunResult;

use crate::columns::Columns;
use crate::grid::Grid;
use crate::list::listed;

/// Each setting of some servers with its distinct values, in order of name.
pub(crate) fn values<'a>(
    instances: impl Iterator<Item = &'a InstanceSummary>,
) -> BTreeMap<&'a str, Vec<&'a str>> {
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in instances.flat_map(|instance| &instance.settings) {
        let known = values.entry(name).or_default();
        if !known.contains(&value.as_str()) {
            known.push(value);
        }
    }
    values
}

/// The settings of all servers of all trials, in order of name.
pub(crate) fn grid(result: &RunResult) -> Grid {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let rows: Vec<_> = values(instances).into_iter().collect();
    let columns = Columns::<&(&str, Vec<&str>)>::new()
        .key("setting", |(name, _)| *name)
        .words("value", |(_, values)| {
            let shown = values.iter();
            let shown = shown.map(|value| if value.is_empty() { "(empty)" } else { *value });
            listed(&shown.collect::<Vec<_>>())
        });
    let caption = format!("{} server settings differ from their defaults.", rows.len());
    columns.grid(caption, &rows)
}
