//! Runs `ip` and `tc`, which set up networks, and runs code inside a network namespace.

use std::fmt::Display;
use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;
use std::thread;

use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};

use crate::failure::{Fact, Failure};
use crate::process;

const REMEDY: &str = "run dyno as root or with CAP_SYS_ADMIN and CAP_NET_ADMIN (a container needs \
                      both, too), or have all members use the loopback interface: \
                      topology.network = \"loopback\"";

/// Runs one of the programs of iproute2. Arguments are separated by spaces; returns the output.
pub(crate) fn run(program: &str, arguments: &str) -> Result<String, Failure> {
    run_with(program, arguments, "")
}

/// Like [`run`], with commands on standard input.
pub(crate) fn run_with(program: &str, arguments: &str, input: &str) -> Result<String, Failure> {
    let ran = process::fed(program, arguments, input).map_err(|error| {
        match error.is(Fact::NoProgram) {
            true => no_network(
                format!("the program {program} is missing"),
                "install iproute2, and make sure that PATH contains its directory, usually /usr/sbin",
            ),
            false => no_network(format!("cannot run {program}: {error}"), REMEDY),
        }
    })?;
    ran.map_err(|words| {
        let words = words.trim().replace('\n', "; ");
        no_network(format!("{program} {arguments}: {words}"), REMEDY)
    })
}

/// Runs `work` in a network namespace. A socket or device belongs to the namespace of the thread
/// that opens it.
pub(crate) fn inside<T: Send + 'static>(
    namespace: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let namespace = File::open(namespace)?;
    // On a thread of its own, which never leaves the namespace.
    let thread = thread::spawn(move || {
        move_into_link_name_space(namespace.as_fd(), Some(LinkNameSpaceType::Network))?;
        work()
    });
    let done = thread.join();
    done.unwrap_or_else(|_| Err(io::Error::other("the thread has panicked")))
}

/// The failure of a host that cannot, or a user that may not, give servers a network of their own.
pub fn no_network(why: impl Display, remedy: impl Into<String>) -> Failure {
    Failure::usage(format!(
        "cannot set up a network for the members of a cluster: {why}"
    ))
    .remedy(remedy)
    .key("topology.network")
}
