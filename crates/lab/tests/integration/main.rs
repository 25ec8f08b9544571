//! The laboratory with real servers.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print what they measured"
)]

mod private;

mod access;
mod containers;
mod doctor;
mod elsewhere;
mod environment;
mod foreign;
mod leftovers;
mod limits;
mod monitors;
mod network;
mod scopes;
mod servers;
mod ssh;
mod template;
mod volumes;
