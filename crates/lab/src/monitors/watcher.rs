//! Takes the samples: every source, once.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::reactor::Reactor;
use engine::counters::{Counters, Reading, ask_all, leave_all};
use rustix::time::{ClockId, clock_gettime};

use super::sample::{Sample, Server};
use super::{Watched, cpu, device, disk, memory, network, pressure, process, quota};
use crate::kernel;

/// Everything that is looked at, and the connections to the servers.
pub(super) struct Watcher {
    servers: Vec<Place>,
    disks: Vec<String>,
    /// A server that is not asked has none.
    counters: Vec<Option<Counters>>,
    reactor: Option<Reactor>,
}

/// Where the kernel tells of a server.
struct Place {
    number: u32,
    pid: Option<u32>,
    group_dir: Option<PathBuf>,
}

impl Watcher {
    /// To be made on the thread that takes the samples.
    pub(super) fn new(watched: Watched) -> Self {
        let servers = watched.servers;
        let places = servers.iter().filter_map(|server| server.data_dir.as_ref());
        let mut disks: Vec<String> = places.flat_map(|dir| device::disks_under(dir)).collect();
        disks.sort();
        disks.dedup();
        Self {
            servers: servers
                .iter()
                .map(|server| Place {
                    number: server.number,
                    pid: server.pid,
                    group_dir: server.group_dir.clone(),
                })
                .collect(),
            disks,
            counters: servers
                .into_iter()
                .map(|server| server.database?.counters())
                .collect(),
            // Without one the servers' own counters are absent.
            reactor: Reactor::new().ok(),
        }
    }

    /// Looks at everything: first at the host, which takes no time, then at the servers,
    /// which take as long as they take. `late` is since when it was due.
    pub(super) fn sample(&mut self, late: Duration) -> Sample {
        let parsed = |name: &str| kernel::text(format!("/proc/{name}")).unwrap_or_default();
        let of_process = |pid: &str| process::parse(&parsed(&format!("{pid}/stat")));
        let mut sample = Sample {
            at: Instant::now(),
            late,
            own_cpu: Duration::ZERO,
            cpu: cpu::parse(&parsed("stat")),
            pressure: pressure::Raw {
                cpu: pressure::parse(&parsed("pressure/cpu")),
                io: pressure::parse(&parsed("pressure/io")),
                memory: pressure::parse(&parsed("pressure/memory")),
            },
            memory: memory::parse(&parsed("meminfo")),
            network: network::parse(&parsed("self/net/dev")),
            disks: disk::parse(&parsed("diskstats"), &self.disks),
            generator: of_process("self"),
            servers: self
                .servers
                .iter()
                .map(|place| Server {
                    number: place.number,
                    process: place.pid.and_then(|pid| of_process(&pid.to_string())),
                    quota: place.group_dir.as_deref().and_then(quota::read),
                    counters: None,
                })
                .collect(),
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

impl Drop for Watcher {
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
