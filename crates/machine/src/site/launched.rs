//! Programs that a site runs.

use std::ffi::OsString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::{Child, ExitStatus};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Signal, pidfd_send_signal};

use crate::failure::Failure;
use crate::process;

/// How long a client may take to end after its program.
const CLIENT_LIMIT: Duration = Duration::from_secs(30);

/// A program of this run.
#[derive(Debug)]
pub struct Program<'a> {
    pub path: &'a Path,
    pub arguments: &'a [OsString],
    /// The file for standard input.
    pub input: &'a Path,
    /// Gets all output.
    pub log: File,
}

/// A program that a site has started.
#[derive(Debug)]
pub struct Launched {
    /// Ends when the program does: the program itself, or the client of podman or docker.
    pub child: Child,
    pub pid: u32,
    /// The program, if `child` is its client on this host: others reap it, and it may outlive the
    /// client.
    program: Option<OwnedFd>,
}

impl Launched {
    pub fn here(child: Child) -> Self {
        Self {
            pid: child.id(),
            child,
            program: None,
        }
    }

    /// `child` is the program's client on this host.
    pub(super) fn by_client(child: Child, pid: u32) -> Self {
        Self {
            pid,
            program: process::handle(pid).ok(),
            ..Self::here(child)
        }
    }

    /// Whether the program still owns its process ID. Once it has ended and was reaped, the ID may
    /// be reused.
    pub fn has_its_pid(&mut self) -> bool {
        match &self.program {
            Some(program) => is_running(program),
            None => matches!(self.child.try_wait(), Ok(None)),
        }
    }

    /// Sends the program a signal, for example to shut down.
    pub fn signal(&mut self, signal: Signal) {
        match &self.program {
            // The program may have ended.
            Some(program) => drop(pidfd_send_signal(program, signal)),
            None => process::terminate(&mut self.child, signal),
        }
    }

    /// Kills the program and, if it is a child, its process group. Returns when it was killed.
    pub fn kill(&mut self) -> Instant {
        match &self.program {
            Some(program) => {
                let _ = pidfd_send_signal(program, Signal::KILL);
                Instant::now()
            }
            None => process::send_kill(&mut self.child),
        }
    }

    /// Waits for the end of a killed program.
    pub fn reap(&mut self) {
        let ended = match &self.program {
            Some(_) => process::wait(&mut self.child, CLIENT_LIMIT).is_some(),
            None => false,
        };
        if !ended {
            process::kill(&mut self.child);
        }
    }

    /// Waits for the program's end like [`process::finish`].
    pub fn finish(
        &mut self,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<Option<ExitStatus>, Failure> {
        let finished = process::finish(&mut self.child, limit, interrupted);
        if let Some(program) = &self.program {
            // A client that is killed does not pass that on.
            let _ = pidfd_send_signal(program, Signal::KILL);
        }
        finished
    }
}

/// Whether a process has not ended: then it has no exit status to wait for.
pub fn is_running(process: &OwnedFd) -> bool {
    let mut events = [PollFd::new(process, PollFlags::IN)];
    matches!(poll(&mut events, Some(&Timespec::default())), Ok(0))
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
        // The client has not noticed yet that its program has ended and was reaped.
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
