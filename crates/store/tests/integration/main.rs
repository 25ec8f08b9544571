//! Result directories, written and read back.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod foreign;
mod round_trip;
