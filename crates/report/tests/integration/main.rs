//! Reports in every format, as their readers see them.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

mod common;
#[path = "../../../measure/tests/integration/simulate.rs"]
mod simulate;

mod browser;
mod compare;
mod compare_differences;
mod compare_recoveries;
mod compare_variants;
mod doctor;
mod history;
mod hundred;
mod look;
mod no_verdict;
mod parts;
mod rank;
mod report;
mod scale;
mod search;
mod size;
mod summary;
mod turns;
mod workload_differences;
