//! Reads the settings of servers.

pub(super) mod server;
