//! This host, with or without a CPU quota.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use engine::Invocation;
use host::throttling::{self, Throttling};
use host::{Files, LOCAL};

use super::cgroup::Group;
use super::{Launched, Site};
use crate::error::LabError;
use crate::home::Home;
use crate::process;

/// This host; by default without a CPU quota.
#[derive(Debug, Default)]
pub struct ThisHost {
    /// Limits the CPU time of the processes.
    group: Option<Group>,
}

impl ThisHost {
    /// This host, with a quota of CPUs for all processes together; `None`: without one.
    ///
    /// # Errors
    /// When the kernel or this user's rights do not allow a CPU quota.
    pub fn with_quota(home: &Home, cpus: Option<f64>) -> Result<Self, LabError> {
        let group = cpus
            .map(|cpus| Group::new(&LOCAL, home, cpus))
            .transpose()?;
        Ok(Self { group })
    }

    /// Starts a program by this command.
    pub(super) fn start(
        &self,
        mut command: Command,
        invocation: &Invocation,
        input: &Path,
        log: File,
    ) -> Result<Launched, LabError> {
        let errors = log.try_clone();
        let errors = errors.map_err(LabError::at("write the log of", &invocation.program))?;
        command.args(&invocation.arguments);
        let input = File::open(input).map_err(LabError::at("read", input))?;
        command.stdin(input).stdout(log).stderr(errors);
        let mut child = process::spawn(command)?;
        let joined = self.group.as_ref().map(|group| group.add(child.id()));
        if let Some(Err(error)) = joined {
            process::kill(&mut child);
            return Err(error);
        }
        Ok(Launched::here(child))
    }
}

impl Site for ThisHost {
    fn spawn(
        &self,
        home: &Home,
        invocation: &Invocation,
        input: &Path,
        log: File,
    ) -> Result<Launched, LabError> {
        let command = home.command(&invocation.program);
        self.start(command, invocation, input, log)
    }

    fn end(&self) -> Result<(), LabError> {
        self.group.as_ref().map_or(Ok(()), Group::end)
    }

    fn files(&self) -> &dyn Files {
        &LOCAL
    }

    fn throttling(&self) -> Option<Throttling> {
        throttling::read(self.files(), self.group.as_ref()?.dir())
    }
}
