//! Server settings that differ from their defaults.

use std::collections::BTreeMap;

use measure::result::RunResult;

use crate::grid::{Grid, heads};
use crate::list::listed;

/// Settings that each server has for itself.
const OWN: [&str; 19] = [
    "basedir",
    "bind_address",
    "datadir",
    "general_log_file",
    "hostname",
    "init_file",
    "log_bin_basename",
    "log_error",
    "mysqlx_port",
    "mysqlx_socket",
    "pid_file",
    "port",
    "replica_load_tmpdir",
    "secure_file_priv",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "tmpdir",
];

/// Whether a setting is each server's own, so that no two have the same.
pub(crate) fn is_own(name: &str) -> bool {
    OWN.contains(&name)
}

/// The settings of all servers of all trials, in order of name, without what each has
/// for itself.
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
    values.retain(|name, _| !is_own(name));
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
