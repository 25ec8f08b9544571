//! Connections to real servers, and to peers that are not what they seem.
#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::unwrap_used,
    reason = "helpers of tests may fail loudly"
)]

mod common;

mod arrival;
mod dialects;
mod failures;
mod impostor;
mod impostors;
mod logins;
mod many;
mod postgres;
mod route;
mod scripts;
mod statements;
mod thieves;
mod tls;
