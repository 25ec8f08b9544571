//! Restarts this host's kernel at once, as a power failure would: nothing is written to disk, and nothing is shut
//! down. In a PID namespace of its own, such as a container's, that ends everything in the namespace instead.
//!
//! dyno must never restart the machine that it runs on. The request says where that is.

use std::fs;
use std::io::ErrorKind;

use rustix::system::{RebootCommand, reboot};
use rustix::thread::{CapabilitySet, capabilities};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";
const PROC: &str = "/proc";
const NAMESPACE: &str = "/proc/self/ns/pid";
/// The kernel's first PID namespace. A restart from within it restarts the kernel, with all other namespaces.
const FIRST: &str = "pid:[4026531836]";

/// The run of a kernel that a process is part of, and its PID namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Boot {
    id: String,
    namespace: String,
}

impl Boot {
    /// That of this process.
    pub fn own() -> Result<Self, Failure> {
        let id = fs::read_to_string(BOOT).map_err(Failure::at("read", BOOT))?;
        let namespace = fs::read_link(NAMESPACE).map_err(Failure::at("read", NAMESPACE))?;
        Ok(Self {
            id: id.trim().to_owned(),
            namespace: namespace.to_string_lossy().into_owned(),
        })
    }

    /// Whether a process in `other` ends when this one restarts.
    fn ends(&self, other: &Self) -> Result<bool, Failure> {
        Ok(self.id == other.id && (self.namespace == FIRST || has_process_in(&other.namespace)?))
    }
}

/// Checks that this host can be restarted, and that dyno, which runs in `dyno`, does not end with it.
pub fn check(dyno: &Boot) -> Result<(), Failure> {
    if Boot::own()?.ends(dyno)? {
        let why = "the host cannot be restarted: dyno itself runs on it";
        return Err(Failure::usage(why).remedy("let `reboot` hit only other machines"));
    }
    let can = capabilities(None).is_ok_and(|held| held.effective.contains(CapabilitySet::SYS_BOOT));
    match can {
        true => Ok(()),
        false => Err(Failure::server(
            "the host cannot be restarted: the user who logs in lacks the capability CAP_SYS_BOOT",
        )
        .remedy("log in there as root")),
    }
}

/// Restarts the host; returns only if that fails.
pub fn restart(dyno: &Boot) -> Failure {
    match check(dyno) {
        Err(refused) => refused,
        Ok(()) => match reboot(RebootCommand::Restart) {
            Err(error) => Failure::server(format!("the host cannot be restarted: {error}")),
            Ok(()) => Failure::internal("the kernel did not restart"),
        },
    }
}

/// Whether a process that this one sees is in a PID namespace: it sees those of its own namespace, and of all that
/// end with it.
fn has_process_in(wanted: &str) -> Result<bool, Failure> {
    for entry in fs::read_dir(PROC).map_err(Failure::at("read", PROC))? {
        let process = entry.map_err(Failure::at("read", PROC))?.path();
        match fs::read_link(process.join("ns/pid")) {
            Ok(name) if name.as_os_str() == wanted => return Ok(true),
            // This may be one.
            Err(error) if error.kind() == ErrorKind::PermissionDenied => return Ok(true),
            _ => {}
        }
    }
    Ok(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_that_dyno_runs_on_is_never_restarted() {
        let own = Boot::own().unwrap();
        let refused = check(&own).unwrap_err();
        assert!(refused.message.contains("dyno itself"), "{refused}");
        // A container of this machine ends with it.
        let below = Boot {
            namespace: "pid:[1]".to_owned(),
            ..own.clone()
        };
        assert!(own.ends(&below).unwrap() || own.namespace != FIRST);
        assert!(has_process_in(&own.namespace).unwrap());
        let elsewhere = Boot {
            id: "other".to_owned(),
            ..own.clone()
        };
        assert!(!own.ends(&elsewhere).unwrap());
    }
}
