//! The test kit itself.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

mod hosts;
mod servers;
mod skips;
