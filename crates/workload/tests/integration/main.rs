//! What virtual users send, and the rows that they find.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

mod recorder;

mod bulk;
mod distributions;
mod rows;
mod users;
