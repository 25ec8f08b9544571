//! Studies of clusters: failover, faults, the ledger, recovery.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

#[path = "../common/mod.rs"]
mod common;

mod chaos;
mod clusters;
mod failover;
mod failure_studies;
mod faults;
mod follow;
mod host_faults;
mod hosts;
mod ledger;
mod patroni;
mod quorum;
mod recovery;
