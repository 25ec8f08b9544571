//! What only real threads can show of a load.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

mod common;

mod dying;
mod ends;
mod fairness;
