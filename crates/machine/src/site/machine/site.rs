//! What a machine does as a site.

use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use host::{Files, HostFacts};
use ipnet::Ipv4Net;

use super::Machine;
use super::agent::Agent;
use crate::failure::Failure;
use crate::home::Home;
use crate::home::survivors::PROCESS;
use crate::process;
use crate::site::any::Site;
use crate::site::launched::{Launched, Program};
use crate::site::vm::Guest;
use crate::ssh::{quoted, script};

/// How long a program may take to start.
const START_LIMIT: Duration = Duration::from_secs(60);
const LAUNCH: &str = include_str!("launch.sh");

impl Site for Machine {
    /// The program's input is a file of a node's directory on this host.
    fn spawn(&self, _: &Home, program: Program<'_>) -> Result<Launched, Failure> {
        let log = program.log;
        let input = self.path(program.input);
        let dir = input.parent().unwrap_or(Path::new("/")).to_owned();
        let process = dir.join(PROCESS);
        self.succeed(&format!("rm -f {}", quoted(&process)))?;
        let mut arguments = vec![dir.into_os_string(), input.into_os_string()];
        arguments.push("setpriv".into());
        arguments.extend(self.account.setpriv_options().into_iter().map(Into::into));
        arguments.push("--".into());
        arguments.push(program.path.into());
        arguments.extend_from_slice(program.arguments);
        let errors = log
            .try_clone()
            .map_err(Failure::at("write the log of", program.path))?;
        let mut ssh = self.client(&[]);
        ssh.arg(script(LAUNCH, &arguments));
        ssh.stdin(Stdio::piped()).stdout(log).stderr(errors);
        let mut child = process::spawn(ssh)?;
        let pid = process::poll(START_LIMIT, || {
            let pid = host::number(&self.agent, &process);
            let pid = pid.and_then(|pid| u32::try_from(pid).ok());
            let mut has_ended = || matches!(child.try_wait(), Ok(Some(_)));
            (pid.is_some() || has_ended()).then_some(pid)
        });
        if let Some(pid) = pid.flatten() {
            return Ok(Launched::elsewhere(child, pid));
        }
        process::kill(&mut child);
        let why = "a program could not be started there".to_owned();
        Err(self.unusable(why, "its log is in the result directory"))
    }

    fn files(&self) -> &dyn Files {
        &self.agent
    }

    fn end(&self) -> Result<(), Failure> {
        let removed = self.remove();
        let guest = self.guest.as_ref().map_or(Ok(()), Guest::end);
        removed.and(guest)
    }

    fn address(&self) -> Ipv4Net {
        self.address
    }

    fn platform(&self) -> Option<String> {
        let facts = HostFacts::read(&self.agent);
        let cpus = facts.cpu.threads.map(|cpus| match cpus {
            1 => "1 CPU".to_owned(),
            _ => format!("{cpus} CPUs"),
        });
        let memory = facts.memory.total_bytes.map(plan::shown_bytes);
        let found = [Some(self.to.host.clone()), facts.cpu.model, cpus, memory];
        let system = [facts.kernel, facts.virtualization];
        let found: Vec<String> = found.into_iter().chain(system).flatten().collect();
        let found = found.join(", ");
        Some(match &self.guest {
            None => found,
            Some(guest) => format!("{}; {found}", guest.accelerator()),
        })
    }

    fn machine(&self) -> Option<&Machine> {
        Some(self)
    }
}

/// What happens to a machine that loses its processes and the content of its memory.
impl Machine {
    /// Switches a guest off, and returns once it is off. A host only loses the connection.
    pub fn cut(&self) -> Instant {
        let cut_at = self.guest.as_ref().map(Guest::cut);
        // No request waits for an answer.
        self.agent.disconnect();
        cut_at.unwrap_or_else(Instant::now)
    }

    /// Switches a guest on again, with what was on its disk. Connects again.
    pub fn restore(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if let Some(guest) = &self.guest {
            guest.switch_on(interrupted)?;
        }
        // A killed ssh client leaves its socket behind.
        let _ = fs::remove_file(&self.control);
        let (agent, _) = Agent::connect(&self.to, &self.control, &self.log)?;
        self.agent.replace(&agent);
        let mounted = self.mounted.get();
        mounted.map_or(Ok(()), |dir| self.mount(dir, interrupted))
    }
}
