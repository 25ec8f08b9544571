//! Takes the samples.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::reactor::Reactor;
use engine::counters::{Counters, Reading, ask_all, leave_all};
use host::{device, process};
use rustix::time::{ClockId, clock_gettime};

use super::snapshot::{Snapshot, Server};
use super::{Monitored, MonitoredServer};
use crate::servers::ProcessId;
use crate::site::Site;

/// Everything that is sampled, and the connections to the servers.
pub(super) struct Sampler {
    site: Arc<dyn Site>,
    servers: Vec<Target>,
    disks: Vec<String>,
    /// A server that is not asked has none.
    counters: Vec<Option<Counters>>,
    reactor: Option<Reactor>,
}

/// Where the kernel has the counters of a server.
struct Target {
    number: u32,
    site: Arc<dyn Site>,
    process: ProcessId,
}

impl Target {
    fn sample(&self) -> Server {
        let read = |pid| process::read_family(self.site.files(), pid);
        Server {
            number: self.number,
            process: self.process.get().and_then(read),
            throttling: self.site.throttling(),
            counters: None,
        }
    }
}

impl Sampler {
    /// To be made on the thread that takes the samples.
    pub(super) fn new(watched: Monitored) -> Self {
        let servers = watched.servers;
        let holding = |server: &MonitoredServer| {
            let dir = server.data_dir.as_ref()?;
            Some(device::below_dir(server.site.files(), dir))
        };
        let mut disks: Vec<String> = servers.iter().filter_map(holding).flatten().collect();
        disks.sort();
        disks.dedup();
        Self {
            servers: servers
                .iter()
                .map(|server| Target {
                    number: server.number,
                    site: Arc::clone(&server.site),
                    process: server.process.clone(),
                })
                .collect(),
            site: watched.site,
            disks,
            counters: servers
                .into_iter()
                .map(|server| server.database?.counters())
                .collect(),
            // Without one the servers' own counters are absent.
            reactor: Reactor::new().ok(),
        }
    }

    /// Samples everything: first the host, which takes no time, then the servers, which may.
    /// `late` is the time since the sample was due.
    pub(super) fn sample(&mut self, late: Duration) -> Snapshot {
        let mut sample = Snapshot {
            at: Instant::now(),
            late,
            own_cpu: Duration::ZERO,
            host: self.site.sample(&self.disks),
            generator: process::read(self.site.files(), "self"),
            servers: self.servers.iter().map(Target::sample).collect(),
        };
        for (server, answer) in sample.servers.iter_mut().zip(self.ask()) {
            server.counters = answer;
        }
        sample.own_cpu = own_cpu();
        sample
    }

    fn ask(&mut self) -> Vec<Option<Reading>> {
        let asked = self
            .reactor
            .as_ref()
            .map(|reactor| reactor.block_on(ask_all(&mut self.counters)));
        asked.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(reactor) = &self.reactor {
            // Nobody is left to tell.
            let _ = reactor.block_on(leave_all(&mut self.counters));
        }
    }
}

fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
