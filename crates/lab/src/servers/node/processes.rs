//! What is done to the processes of a node: those of its server, and of the cluster manager that may
//! run beside it.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use plan::FaultProcess;
use rustix::process::Signal;

use super::{Node, STOP_LIMIT};
use crate::error::LabError;
use crate::servers::family::Family;
use crate::servers::running::Running;

/// How long the processes of a killed server may take to be gone.
const GONE_LIMIT: Duration = Duration::from_secs(10);

impl Node {
    /// Kills these of its processes as `kill -9` does; returns when. A cluster manager that is left
    /// starts its server again.
    ///
    /// # Errors
    /// When it is not running.
    pub(crate) fn kill_processes(&mut self, process: FaultProcess) -> Result<Instant, LabError> {
        let (server, manager) = (self.pid(), self.manager_pid());
        let site = Arc::clone(&self.launcher.site);
        let running = self.running()?;
        match (process, server, manager) {
            (FaultProcess::Server, Some(first), Some(_)) => {
                let family = Family {
                    files: site.files(),
                    first,
                };
                let killed_at = family.send(Signal::KILL);
                family.wait_until_gone(GONE_LIMIT);
                Ok(killed_at)
            }
            (FaultProcess::Manager, _, Some(_)) => Ok(running.kill_child()),
            _ => {
                let family = server.map(|first| Family {
                    files: site.files(),
                    first,
                });
                let killed_at = family.map(|family| family.send(Signal::KILL));
                let rest_killed_at = self.kill();
                let killed_at = killed_at.or(rest_killed_at);
                killed_at.ok_or_else(|| self.not_running())
            }
        }
    }

    /// Shuts these of its processes down, waiting at most 300 s; returns when they were gone. A
    /// cluster manager shuts its server down, too, and starts it again otherwise.
    ///
    /// # Errors
    /// When it is not running, or ends with a failure; when it does not end in time or the user
    /// interrupts, in which case it is killed.
    pub(crate) fn shut_down(
        &mut self,
        process: FaultProcess,
        interrupted: &AtomicBool,
    ) -> Result<Instant, LabError> {
        let (server, manager) = (self.pid(), self.manager_pid());
        self.running()?;
        if let (FaultProcess::Server, Some(first), Some(_)) = (process, server, manager) {
            let site = Arc::clone(&self.launcher.site);
            let family = Family {
                files: site.files(),
                first,
            };
            family.send_first(self.launcher.installed.engine.stop_signal());
            family.wait_until_gone(STOP_LIMIT);
        } else {
            self.stop_process(interrupted)?;
        }
        Ok(Instant::now())
    }

    /// Stops these of its processes by a signal; returns when the last one stood still.
    ///
    /// # Errors
    /// When it is not running, or a process does not obey.
    pub(crate) fn pause(&mut self, process: FaultProcess) -> Result<Instant, LabError> {
        let (server, manager) = (self.pid(), self.manager_pid());
        let firsts = match (process, manager) {
            (FaultProcess::Server, _) | (_, None) => [server, None],
            (FaultProcess::Manager, _) => [manager, None],
            (FaultProcess::Both, _) => [manager, server],
        };
        self.running()?.is_paused = true;
        self.signal(firsts, |family| family.stop(), "SIGSTOP")
    }

    /// Lets a paused server go on; returns when all its processes did.
    ///
    /// # Errors
    /// When it is not running, or a process does not obey.
    pub(crate) fn resume(&mut self) -> Result<Instant, LabError> {
        let firsts = [self.pid(), self.manager_pid()];
        self.running()?.is_paused = false;
        self.signal(firsts, |family| family.resume(), "SIGCONT")
    }

    /// Whether it runs; with a cluster manager, whether that runs.
    pub(crate) fn runs(&mut self) -> bool {
        let running = self.running.as_mut();
        running.is_some_and(|running| running.ended().is_none())
    }

    fn signal(
        &self,
        firsts: [Option<u32>; 2],
        send: fn(&Family<'_>) -> Option<Instant>,
        signal: &'static str,
    ) -> Result<Instant, LabError> {
        let files = self.launcher.site.files();
        let mut last = None;
        for first in firsts.into_iter().flatten() {
            let obeyed = send(&Family { files, first });
            last = Some(obeyed.ok_or_else(|| LabError::Disobeyed {
                server: self.launcher.name(),
                signal,
            })?);
        }
        last.ok_or_else(|| self.not_running())
    }

    fn running(&mut self) -> Result<&mut Running, LabError> {
        let error = self.not_running();
        self.running.as_mut().ok_or(error)
    }

    fn not_running(&self) -> LabError {
        LabError::NotRunning {
            server: self.launcher.name(),
        }
    }
}
