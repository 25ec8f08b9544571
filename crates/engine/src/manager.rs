//! Programs of a cluster besides its servers: services that its members share, and cluster managers.

use std::net::SocketAddr;
use std::path::Path;

use crate::http;
use crate::launch::{Invocation, Paths, ServerFile};
use crate::settings::Settings;

/// A program that runs once per cluster, from before its first member starts until after its last
/// member has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The name, also of its log: `etcd`.
    pub name: &'static str,
    pub invocation: Invocation,
    pub files: Vec<ServerFile>,
    /// Where the service reports whether it is ready.
    pub address: SocketAddr,
    /// The path of a page that the service serves, and what the page contains once the service is
    /// ready.
    pub health: (&'static str, &'static str),
}

impl Service {
    pub fn is_ready(&self) -> bool {
        let (path, word) = self.health;
        http::get(self.address, path)
            .is_ok_and(|page| page.is_success() && page.body.contains(word))
    }
}

/// A server that a cluster manager starts.
#[derive(Debug, Clone, Copy)]
pub struct ManagedServer<'a> {
    pub program: &'a Path,
    pub paths: &'a Paths,
    pub config: &'a Settings,
    /// The system user that server and manager run as; `None` if that is dyno's own.
    pub account: Option<&'a str>,
}

/// A program that starts, stops, and restarts a member's server in place of the laboratory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// SIGTERM stops the manager together with its server.
    pub invocation: Invocation,
    pub files: Vec<ServerFile>,
}
