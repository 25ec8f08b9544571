//! What faults do to a node's processes: kill, shut down, pause, and resume.

use std::sync::atomic::AtomicBool;
use std::time::Instant;

use engine::replication::Replication;
use plan::FaultProcess;

use super::Node;
use crate::failure::{Failure, not_running};
use crate::servers::running::Running;

impl Node {
    /// Kills the node as `kill -9` does, and reaps it; returns when it was killed, `None` if it was
    /// not running. Its directory stays until the node is dropped.
    pub fn kill(&mut self) -> Option<Instant> {
        let mut running = self.running.take()?;
        Some(running.kill())
    }

    /// Kills the selected processes; returns when they were killed, `None` if they were not
    /// running. Without a cluster manager, the same as [`Node::kill`].
    pub(crate) fn kill_process(&mut self, which: FaultProcess) -> Option<Instant> {
        let is_managed = self.is_managed();
        match which {
            FaultProcess::Server if is_managed => self.running.as_mut()?.kill_server(),
            FaultProcess::Manager if is_managed => self.running.as_mut()?.kill_manager(),
            _ => self.kill(),
        }
    }

    /// Shuts the server down, waiting at most 300 s; returns when it was gone.
    pub(crate) fn shut_down(&mut self, interrupted: &AtomicBool) -> Result<Instant, Failure> {
        self.running()?;
        self.as_member(Replication::leave)?;
        self.stop_process(interrupted)?;
        Ok(Instant::now())
    }

    /// Stops the selected processes with a signal; returns when the last one was stopped.
    pub(crate) fn pause(&mut self, which: FaultProcess) -> Result<Instant, Failure> {
        let paused = self.running()?.pause(which);
        paused.ok_or_else(|| self.disobeyed("SIGSTOP"))
    }

    /// Resumes a paused server; returns when all its processes were resumed.
    pub(crate) fn resume(&mut self) -> Result<Instant, Failure> {
        let resumed = self.running()?.resume();
        resumed.ok_or_else(|| self.disobeyed("SIGCONT"))
    }

    fn running(&mut self) -> Result<&mut Running, Failure> {
        let server = self.launcher.name();
        self.running.as_mut().ok_or_else(|| not_running(&server))
    }

    fn disobeyed(&self, signal: &'static str) -> Failure {
        let server = self.launcher.name();
        Failure::server(format!(
            "a process of {server} did not obey {signal} within 10 s"
        ))
    }
}
