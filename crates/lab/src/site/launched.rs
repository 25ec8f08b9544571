//! Programs that a site runs.

use std::os::fd::OwnedFd;
use std::process::Child;

/// A program that a site has started.
#[derive(Debug)]
pub struct Launched {
    /// Ends when the program does. On another machine, it is the connection to the program; with
    /// podman, it is podman.
    pub child: Child,
    /// The program's process on the site.
    pub pid: u32,
}

impl Launched {
    /// A program on this host.
    #[must_use]
    pub fn here(child: Child) -> Self {
        Self {
            pid: child.id(),
            child,
        }
    }
}

/// A process of a site.
#[derive(Debug)]
pub enum Process {
    /// On this host: a handle that stays valid even if its number is reused.
    Here(OwnedFd),
    /// On another machine: its number there.
    Elsewhere(u32),
}
