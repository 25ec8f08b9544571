//! Restarts a host, and connects to it again: to a new program of dyno's, which takes over what the former one had.

use std::mem;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use machine::site::far::reboot::Boot;
use plan::{FaultKind, Topology};

use super::asks::Ask;
use super::{Host, program};
use crate::failure::{Failure, unless_canceled};
use crate::locked;
use crate::process::NEVER;

/// How long a host may take to start: firmware tests much memory for minutes.
const RETURN_LIMIT: Duration = Duration::from_secs(900);
/// How long to wait for it after an interruption, in order to clean up.
const CLEANUP_LIMIT: Duration = Duration::from_secs(5);
const RETRY_INTERVAL: Duration = Duration::from_millis(500);

/// A host that restarts, or a guest without power.
pub(crate) struct Away {
    host: Arc<Host>,
    /// The name of the run directory of the program that ended there.
    run: String,
}

impl Host {
    /// Whether a fault of the study may restart it.
    pub(super) fn may_restart(&self, topology: &Topology) -> bool {
        let hosts = topology.node.site.hosts.as_ref();
        let is_allowed =
            hosts.is_some_and(|hosts| hosts.allow_reboot.iter().any(|name| name == self.name()));
        let mut faults = topology.faults.iter();
        is_allowed && faults.any(|fault| fault.kind() == FaultKind::Reboot)
    }
}

impl Away {
    /// Restarts a host as a power failure would, or cuts the power of a guest: what that had not written
    /// to its disk is lost, whatever its server was told. Also returns when that took effect.
    pub(super) fn begin(host: &Arc<Host>) -> Result<(Self, Instant), Failure> {
        let run = host.ask(&Ask::Run, &NEVER)?;
        let since = match host.is_guest() {
            true => None,
            false => Some(restart(host)?),
        };
        // A kernel that ends says nothing: nobody must wait for its answers.
        let cut_at = host.machine.cut();
        let host = Arc::clone(host);
        Ok((Self { host, run }, since.unwrap_or(cut_at)))
    }

    /// Connects to the host again once it has restarted. With `goes_on`, its servers can be taken over;
    /// otherwise, everything that dyno had there is removed, also after an interruption if the host is back soon.
    pub(crate) fn return_to(&self, goes_on: bool, interrupted: &AtomicBool) -> Result<(), Failure> {
        let Host {
            machine, directory, ..
        } = &*self.host;
        if machine.is_guest() && !goes_on {
            // It ends with its files.
            return Ok(());
        }
        let former = goes_on.then_some(&*self.run);
        let canceled = if goes_on { interrupted } else { &NEVER };
        let begun = Instant::now();
        loop {
            let connected = machine
                .restore(canceled)
                .and_then(|()| program(machine, directory, former, canceled));
            match connected {
                Ok(link) => {
                    // Other threads must not wait until the former link has ended.
                    let former = mem::replace(&mut *locked(&self.host.link), Arc::new(link));
                    drop(former);
                    return Ok(());
                }
                Err(error) => {
                    let limit = match (interrupted.load(Ordering::Relaxed), goes_on) {
                        _ if machine.is_guest() => return Err(error),
                        (false, _) => RETURN_LIMIT,
                        (true, true) => Duration::ZERO,
                        (true, false) => CLEANUP_LIMIT,
                    };
                    if begun.elapsed() >= limit {
                        unless_canceled(interrupted)?;
                        let limit_min = limit.as_secs() / 60;
                        let name = self.host.name();
                        return Err(
                            error.context(format!("{name} is not back after {limit_min} min"))
                        );
                    }
                    sleep(RETRY_INTERVAL);
                }
            }
        }
    }
}

fn restart(host: &Host) -> Result<Instant, Failure> {
    let asked: Result<Instant, _> = host.call(&Ask::Reboot(Boot::own()?), &NEVER);
    let since = asked?;
    sleep(since.saturating_duration_since(Instant::now()));
    Ok(since)
}
