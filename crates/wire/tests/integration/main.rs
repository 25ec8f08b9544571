//! The codecs, held to other implementations of the protocols.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly and print their seeds"
)]

mod common;

mod auth;
mod commands;
mod handshake;
mod hostile;
mod postgres;
mod replies;
