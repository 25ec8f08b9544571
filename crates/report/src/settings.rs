//! The servers' settings that are not their defaults.

use std::collections::BTreeMap;

use measure::result::RunResult;

use crate::list::listed;

/// A setting, and all the values that servers had.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Setting {
    pub(crate) name: String,
    pub(crate) value: String,
}

/// All settings of all servers of all trials, in order of name.
pub(crate) fn settings(result: &RunResult) -> Vec<Setting> {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let mut values: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, value) in instances.flat_map(|instance| &instance.settings) {
        let value = if value.is_empty() { "(empty)" } else { value };
        let known = values.entry(name).or_default();
        if !known.contains(&value) {
            known.push(value);
        }
    }
    let settings = values.into_iter().map(|(name, values)| Setting {
        name: name.to_owned(),
        value: listed(&values),
    });
    settings.collect()
}
