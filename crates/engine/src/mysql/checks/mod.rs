//! Checks on the settings of running and planned servers.

mod connections;
pub(super) mod defaults;
mod durability;
mod overhead;
mod pool;
#[cfg(test)]
mod tests;
mod write;

use measure::finding::check::Check;

use crate::checks::{ELSEWHERE, Facts};

/// Every check of a server, in the order of the reference page.
pub(super) fn checks() -> Vec<&'static Check<Facts>> {
    let families = [
        ELSEWHERE,
        durability::CHECKS,
        pool::CHECKS,
        write::CHECKS,
        connections::CHECKS,
        overhead::CHECKS,
    ];
    families.into_iter().flatten().collect()
}

/// Settings that checks look at, besides those with known defaults.
const OTHERS: [&str; 6] = [
    "innodb_buffer_pool_instances",
    "innodb_data_file_buffering",
    "innodb_log_files_in_group",
    "max_connections",
    "open_files_limit",
    "version",
];

/// Every setting that a check looks at.
pub(super) fn wanted() -> Vec<&'static str> {
    defaults::names().chain(OTHERS).collect()
}
