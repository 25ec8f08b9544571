//! The command line without servers, or with SQLite.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../report/tests/integration/common/mod.rs"]
mod results;

mod answers;
mod architecture;
mod bad_results;
mod decided;
mod find_max;
mod full_disk;
mod help;
mod links;
mod papers;
mod planning;
mod planted;
mod refused;
mod rerun;
mod resume_elsewhere;
mod scripts;
mod sqlite;
mod terminal;
mod thresholds;
mod until;
