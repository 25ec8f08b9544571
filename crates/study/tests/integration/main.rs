//! Study files: what they mean, and what is said of bad ones.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

mod common;

mod clusters;
mod ends;
mod faults;
mod fleet;
mod hosts;
mod ledger;
mod limits;
mod load_parts;
mod messages;
mod overrides;
mod pair;
mod plan;
mod reference;
mod repeats;
mod robust;
mod scripts;
mod secrets;
mod servers;
mod sizes;
mod tables;
mod thresholds;
mod variants;
mod volumes;
