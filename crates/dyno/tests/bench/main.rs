//! Benchmarks of running servers.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "../common/mod.rs"]
mod common;

mod bad_input;
mod counters;
mod doctor;
mod errors;
mod guides;
mod habits;
mod loading;
mod mysql;
mod open_loop;
mod passwords;
mod postgres;
mod scripts;
mod stopping;
mod turns;
