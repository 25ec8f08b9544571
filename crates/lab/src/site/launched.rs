//! Programs that a site runs.

use std::os::fd::OwnedFd;
use std::process::{Child, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

use crate::failure::Failure;
use crate::process;

/// How long a client may take to end after its program.
const CLIENT_LIMIT: Duration = Duration::from_secs(30);

/// A program that a site has started.
#[derive(Debug)]
pub struct Launched {
    /// Ends when the program does. On another machine, it is the connection to the program; with
    /// podman and docker, it is their client.
    pub child: Child,
    /// The program's process on the site.
    pub pid: u32,
    /// The program, if the child is its client on this host: others reap it, and it may outlive the
    /// client.
    program: Option<OwnedFd>,
}

impl Launched {
    /// A program on this host.
    pub fn here(child: Child) -> Self {
        Self {
            pid: child.id(),
            child,
            program: None,
        }
    }

    /// A program on another machine, with the connection to it.
    pub fn elsewhere(child: Child, pid: u32) -> Self {
        Self {
            child,
            pid,
            program: None,
        }
    }

    /// A program on this host with its client.
    pub(super) fn by_client(child: Child, pid: u32) -> Self {
        Self {
            child,
            pid,
            program: open(pid),
        }
    }

    /// Whether the program has its process ID still: it has not ended. Once it has, and was reaped,
    /// the ID may be another process's.
    pub(crate) fn has_its_pid(&mut self) -> bool {
        match &self.program {
            Some(program) => is_running(program),
            None => matches!(self.child.try_wait(), Ok(None)),
        }
    }

    /// Sends the program a signal, such as that to shut down.
    pub(super) fn signal(&mut self, signal: Signal) {
        match &self.program {
            // It may have ended.
            Some(program) => drop(pidfd_send_signal(program, signal)),
            None => process::terminate(&mut self.child, signal),
        }
    }

    /// Kills the program, and all of its process group if it is a child; returns when.
    pub(super) fn kill(&mut self) -> Instant {
        match &self.program {
            Some(program) => {
                let _ = pidfd_send_signal(program, Signal::KILL);
                Instant::now()
            }
            None => process::send_kill(&mut self.child),
        }
    }

    /// Waits for its end once it has been killed.
    pub(super) fn reap(&mut self) {
        let ended = match &self.program {
            Some(_) => process::wait(&mut self.child, CLIENT_LIMIT).is_some(),
            None => false,
        };
        if !ended {
            process::kill(&mut self.child);
        }
    }

    /// Waits for its end, as [`process::finish`] does.
    pub(crate) fn finish(
        &mut self,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, Failure> {
        let finished = process::finish(&mut self.child, limit, interrupted);
        if let Some(program) = &self.program {
            // A client that was killed has told nobody.
            let _ = pidfd_send_signal(program, Signal::KILL);
        }
        finished
    }
}

/// Whether a process has not ended: the kernel then has nothing to tell of it.
fn is_running(process: &OwnedFd) -> bool {
    let mut events = [PollFd::new(process, PollFlags::IN)];
    matches!(poll(&mut events, Some(&Timespec::default())), Ok(0))
}

fn open(pid: u32) -> Option<OwnedFd> {
    let pid = Pid::from_raw(i32::try_from(pid).ok()?)?;
    pidfd_open(pid, PidfdFlags::empty()).ok()
}

/// A process of a site.
#[derive(Debug)]
pub enum Process {
    /// On this host: a handle that stays valid even if its number is reused.
    Here(OwnedFd),
    /// On another machine: its number there.
    Elsewhere(u32),
}

impl Process {
    /// Whether it has not ended, as far as this host can tell.
    pub(crate) fn is_running(&self) -> bool {
        match self {
            Self::Here(handle) => is_running(handle),
            Self::Elsewhere(_) => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    use super::*;

    fn sleeping() -> Child {
        let mut sleep = Command::new("sleep");
        sleep.arg("600").process_group(0).spawn().unwrap()
    }

    #[test]
    fn a_program_that_has_ended_has_no_process_id() {
        let mut launched = Launched::here(sleeping());
        assert!(launched.has_its_pid());
        launched.kill();
        launched.reap();
        assert!(!launched.has_its_pid());
        // The client has not noticed yet that its program has ended, and was reaped.
        let mut program = sleeping();
        let mut launched = Launched::by_client(sleeping(), program.id());
        assert!(launched.has_its_pid());
        program.kill().unwrap();
        program.wait().unwrap();
        assert!(!launched.has_its_pid());
        launched.child.kill().unwrap();
        launched.child.wait().unwrap();
    }
}
