//! What is read of this machine.
#![allow(clippy::unwrap_used, reason = "helpers of tests may fail loudly")]

mod environment;
