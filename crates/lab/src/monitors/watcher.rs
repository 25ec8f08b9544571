//! Takes the samples.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use client::reactor::Reactor;
use engine::counters::{Counters, Reading, ask_all, leave_all};
use host::{LOCAL, device, process, quota};
use rustix::time::{ClockId, clock_gettime};

use super::Watched;
use super::sample::{Sample, Server};

/// Everything that is sampled, and the connections to the servers.
pub(super) struct Watcher {
    servers: Vec<Place>,
    disks: Vec<String>,
    /// A server that is not asked has none.
    counters: Vec<Option<Counters>>,
    reactor: Option<Reactor>,
}

/// Where the kernel has the counters of a server.
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
        let mut disks: Vec<String> = places
            .flat_map(|dir| device::holding(&LOCAL, dir))
            .collect();
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

    /// Samples everything: first the host, which takes no time, then the servers, which may.
    /// `late` is the time since the sample was due.
    pub(super) fn sample(&mut self, late: Duration) -> Sample {
        let mut sample = Sample {
            at: Instant::now(),
            late,
            own_cpu: Duration::ZERO,
            host: host::Sample::take(&LOCAL, &self.disks),
            generator: process::read(&LOCAL, "self"),
            servers: self
                .servers
                .iter()
                .map(|place| Server {
                    number: place.number,
                    process: place.pid.and_then(|pid| process::read_family(&LOCAL, pid)),
                    quota: place
                        .group_dir
                        .as_deref()
                        .and_then(|dir| quota::read(&LOCAL, dir)),
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
