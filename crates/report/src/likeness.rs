//! Whether results are of the same work: without that their numbers cannot be held
//! against each other.

use measure::result::RunResult;
use measure::setup::Setup;

use crate::keys;
use crate::list::{distinct, listed};
use crate::number;

/// Something that has to be alike, and the keys of a study that change it.
struct Must {
    name: &'static str,
    keys: &'static [&'static str],
    of: fn(&Setup) -> String,
}

const MUST: [Must; 6] = [
    Must {
        name: "workload",
        keys: &["load.workload"],
        of: |setup| setup.workload.clone(),
    },
    Must {
        name: "tables",
        keys: &["data.tables"],
        of: |setup| number::count(setup.tables.into()),
    },
    Must {
        name: "rows in each table",
        keys: &["data.rows"],
        of: |setup| number::count(setup.rows),
    },
    Must {
        name: "keys drawn",
        keys: &["load.key_range", "data.rows"],
        of: |setup| format!("1 to {}", number::count(setup.key_range)),
    },
    Must {
        name: "distribution",
        keys: &["load.distribution"],
        of: |setup| setup.distribution.clone(),
    },
    Must {
        name: "statements",
        keys: &[],
        of: |setup| setup.protocol.to_string(),
    },
];

/// What is not alike in two results, each as `rows in each table: 1,000 / 2,000`. What
/// both vary is alike at each point, so it is not looked at.
#[must_use]
pub fn unlike(one: &RunResult, other: &RunResult) -> Vec<String> {
    let varied = |result: &RunResult, must: &Must| {
        let axes = keys::axes(result);
        must.keys.iter().any(|key| axes.contains(key))
    };
    let values = |result: &RunResult, must: &Must| {
        let mut values = distinct(result.trials.iter().map(|trial| (must.of)(&trial.setup)));
        values.sort();
        listed(&values)
    };
    let asked = MUST
        .iter()
        .filter(|must| !(varied(one, must) && varied(other, must)));
    let pairs = asked.map(|must| (must.name, values(one, must), values(other, must)));
    let unlike = pairs.filter(|(_, one, other)| one != other);
    unlike
        .map(|(name, one, other)| format!("{name}: {one} / {other}"))
        .collect()
}
