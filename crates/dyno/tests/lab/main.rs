//! Studies with servers, sites, volumes, guests, and hosts of their own.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

#[path = "../common/mod.rs"]
mod common;

mod agents;
mod agents_elsewhere;
mod disks;
mod fleet;
mod flush;
mod guests;
mod hosts;
mod kill;
mod limits;
mod networks;
mod papers;
mod platforms;
mod resume;
mod servers;
mod studies;
mod turns;
mod volumes;
