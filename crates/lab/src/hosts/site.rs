//! Another host as the site of a node: what this host sees of it. What is done there, dyno's program
//! does.

use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use host::group::{self, Usage};
use host::{Files, HostFacts};
use ipnet::Ipv4Net;
use measure::clock::HostClock;

use super::Host;
use crate::failure::Failure;
use crate::home::Home;
use crate::locked;
use crate::site::{Launched, Machine, Program, Site};

#[derive(Debug)]
pub(crate) struct FarSite {
    host: Arc<Host>,
    address: Ipv4Net,
    /// The control groups there, once they exist.
    groups: Mutex<Vec<PathBuf>>,
}

impl FarSite {
    pub(super) fn new(host: &Arc<Host>, address: Ipv4Net) -> Self {
        Self {
            host: Arc::clone(host),
            address,
            groups: Mutex::default(),
        }
    }

    pub(super) fn host(&self) -> &Arc<Host> {
        &self.host
    }

    pub(super) fn has_groups(&self, groups: Vec<PathBuf>) {
        *locked(&self.groups) = groups;
    }
}

impl Site for FarSite {
    fn spawn(&self, _: &Home, _: Program<'_>) -> Result<Launched, Failure> {
        Err(Failure::internal("dyno's program starts the servers there"))
    }

    fn files(&self) -> &dyn Files {
        &*self.host
    }

    /// Everything on a host ends with its node, and with the connection.
    fn end(&self) -> Result<(), Failure> {
        self.host.machine.end()
    }

    fn address(&self) -> Ipv4Net {
        self.address
    }

    fn platform(&self) -> Option<String> {
        let facts = HostFacts::read(&*self.host);
        let cpus = facts.cpu.threads.map(|cpus| match cpus {
            1 => "1 CPU".to_owned(),
            _ => format!("{cpus} CPUs"),
        });
        let memory = facts.memory.total_bytes.map(plan::shown_bytes);
        let found = [
            Some(self.host.machine.platform()),
            facts.cpu.model,
            cpus,
            memory,
        ];
        let system = [facts.kernel, facts.virtualization];
        let found: Vec<String> = found.into_iter().chain(system).flatten().collect();
        Some(found.join(", "))
    }

    fn clock(&self) -> Option<HostClock> {
        let clock = self.host.link().clock().ok()?;
        let seconds = |ns: u64| Duration::from_nanos(ns).as_secs_f64();
        Some(HostClock {
            host: self.host.name().to_owned(),
            ahead_s: clock.wall.ahead_ns as f64 / 1e9,
            bound_s: seconds(clock.wall.bound_ns),
            events_bound_s: seconds(clock.steady.bound_ns),
            drift: clock.drift,
        })
    }

    fn machine(&self) -> Option<&Machine> {
        Some(&self.host.machine)
    }

    fn usage(&self) -> Option<Usage> {
        let groups = locked(&self.groups).clone();
        (!groups.is_empty()).then(|| group::read(self.files(), &groups))
    }
}
