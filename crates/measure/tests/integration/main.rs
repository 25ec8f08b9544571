//! Statistics, held to simulations and to published numbers.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

mod simulate;

mod change_point;
mod compare;
mod coverage;
mod find_max;
mod ledger;
mod reference;
mod sequential;
mod steady;
mod turns;
mod until;
