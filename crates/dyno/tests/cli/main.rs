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

mod architecture;
mod bad_results;
mod compare;
mod find_max;
mod full_disk;
mod help;
mod history;
mod links;
mod papers;
mod planning;
mod planted;
mod rank;
mod resume_elsewhere;
mod same_work;
mod size;
mod sqlite;
mod terminal;
mod thresholds;
mod unheard;
mod until;
