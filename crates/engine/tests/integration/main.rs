//! Data and clusters on real servers.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

mod failover;
mod loading;
