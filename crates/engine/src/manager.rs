//! Programs of a cluster besides its servers: services that its members share, and cluster managers.

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;

use crate::http;
use crate::launch::{Invocation, Paths};
use crate::settings::Settings;

/// A program that runs once per cluster, from before its first member starts until after its last
/// member has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service {
    /// The name, also of its log: `etcd`.
    pub name: &'static str,
    pub invocation: Invocation,
    pub files: Vec<ManagerFile>,
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
    /// The study's settings.
    pub config: &'a Settings,
    /// The system user that server and manager run as; `None` if that is dyno's own.
    pub account: Option<&'a str>,
}

/// A program that starts, stops, and restarts a member's server in place of the laboratory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manager {
    /// SIGTERM stops the manager together with its server.
    pub invocation: Invocation,
    pub files: Vec<ManagerFile>,
}

/// A file that a cluster manager or a service needs.
#[derive(Clone, PartialEq, Eq)]
pub struct ManagerFile {
    /// The name in the laboratory's directory for the program, such as [`Paths::dir`].
    pub name: &'static str,
    /// May contain secrets.
    pub text: String,
    /// The version for the result, without secrets; `None` if the result keeps nothing.
    pub kept: Option<String>,
    /// Whether the file is executable.
    pub is_program: bool,
}

impl ManagerFile {
    /// A file that the result does not keep.
    pub(crate) fn new(name: &'static str, text: String) -> Self {
        Self {
            name,
            text,
            kept: None,
            is_program: false,
        }
    }
}

/// Hides the text.
impl fmt::Debug for ManagerFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ManagerFile")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}
