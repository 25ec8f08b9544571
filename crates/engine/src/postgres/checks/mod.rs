//! Checks on the settings of running and planned servers.

mod connections;
pub(super) mod defaults;
mod durability;
mod memory;
mod overhead;
#[cfg(test)]
mod tests;
mod write;

use measure::finding::Level;
use measure::finding::check::{Check, Judged, Observed};

use super::settings;
use crate::checks::{ELSEWHERE, Facts};

/// Every check of a server, in the order of the reference page.
pub(super) fn checks() -> Vec<&'static Check<Facts>> {
    let families = [
        ELSEWHERE,
        durability::CHECKS,
        memory::CHECKS,
        write::CHECKS,
        connections::CHECKS,
        overhead::CHECKS,
    ];
    families.into_iter().flatten().collect()
}

/// Besides settings, a server is asked how many vacuums are running.
pub(super) const VACUUMS: &str = "pg_stat_progress_vacuum";

/// Settings that checks look at, besides those with known defaults.
const OTHERS: [&str; 3] = [
    "auto_explain.log_analyze",
    "auto_explain.log_min_duration",
    "huge_pages_status",
];

/// Every setting that a check looks at.
pub(super) fn wanted() -> Vec<&'static str> {
    defaults::names().chain(OTHERS).collect()
}

/// The unit of `checkpoint_timeout`.
const SECOND_MS: f64 = 1000.0;

/// A size in bytes; numbers without a unit count in `unit` bytes.
fn bytes(server: &Facts, name: &str, unit: u64) -> Result<u64, Observed> {
    server.parsed(name, |text| settings::bytes(text, unit))
}

/// A time in milliseconds; numbers without a unit count in `unit` milliseconds.
fn ms(server: &Facts, name: &str, unit: f64) -> Result<f64, Observed> {
    server.parsed(name, |text| settings::ms(text, unit))
}

/// Grades a time in milliseconds.
fn timed(server: &Facts, name: &str, unit: f64, level: impl Fn(f64) -> Level) -> Judged {
    let time = ms(server, name, unit)?;
    server.graded(name, |_| level(time))
}

/// A size as written in a remedy.
fn size(server: &Facts, bytes: u64) -> String {
    let size = format!("{}MB", bytes >> 20);
    match server.planned {
        true => format!("\"{size}\""),
        false => size,
    }
}
