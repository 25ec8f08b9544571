//! Takes snapshots of host and servers.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use client::reactor::Reactor;
use engine::counters::{Counters, Reading, ask_all, leave_all};
use host::{Files, OtherPrograms, ReadAhead, device, process};
use rustix::time::{ClockId, clock_gettime};

use super::snapshot::{ServerSnapshot, Snapshot};
use super::{Monitored, MonitoredServer};
use crate::setup::servers::ProcessId;
use crate::site::Site;

pub(super) struct Sampler {
    site: Arc<dyn Site>,
    servers: Vec<SampledServer>,
    /// Directories of the servers' data and logs on this host; faults may replace the devices below
    /// them.
    directories: Vec<PathBuf>,
    /// Each server's own counters, if they are monitored.
    counters: Vec<Option<Counters>>,
    reactor: Option<Reactor>,
    others: OtherPrograms,
    last: Instant,
}

struct SampledServer {
    number: u32,
    site: Arc<dyn Site>,
    process: ProcessId,
    /// `None` if the server runs on this host.
    machine: Option<SampledMachine>,
}

/// A machine other than this host.
#[derive(Default)]
struct SampledMachine {
    /// The disks of the server's data.
    disks: Vec<String>,
    /// The files that the last sample read.
    paths: Vec<PathBuf>,
}

impl SampledServer {
    fn new(server: &MonitoredServer) -> Self {
        Self {
            number: server.number,
            site: Arc::clone(&server.site),
            process: server.process.clone(),
            machine: server.site.machine().map(|_| SampledMachine {
                disks: disks(&*server.site, &server.directories),
                paths: Vec::new(),
            }),
        }
    }

    fn sample(&mut self) -> ServerSnapshot {
        let files = self.site.files();
        match &mut self.machine {
            None => self.snapshot(Instant::now(), files, None),
            Some(machine) => {
                let machine = std::mem::take(machine);
                let asked = Instant::now();
                let files = ReadAhead::new(files, machine.paths);
                // The files were read at some moment during the exchange; take its middle.
                let at = asked + asked.elapsed() / 2;
                let sample = host::Sample::take(&files, &machine.disks);
                let snapshot = self.snapshot(at, &files, Some(sample));
                let paths = files.into_paths();
                self.machine = Some(SampledMachine { paths, ..machine });
                snapshot
            }
        }
    }

    fn snapshot(
        &self,
        at: Instant,
        files: &dyn Files,
        machine: Option<host::Sample>,
    ) -> ServerSnapshot {
        let read = |pid| process::read_family(files, pid);
        ServerSnapshot {
            number: self.number,
            at,
            process: self.process.get().and_then(read),
            manager: self.process.manager().and_then(read),
            machine,
            usage: self.site.usage(),
            counters: None,
        }
    }
}

impl Sampler {
    /// Must be called on the thread that takes the snapshots.
    pub(super) fn new(monitored: Monitored) -> Self {
        let servers = monitored.servers;
        let here = servers
            .iter()
            .filter(|server| server.site.machine().is_none());
        let directories = here.flat_map(|server| server.directories.clone()).collect();
        Self {
            servers: servers.iter().map(SampledServer::new).collect(),
            site: monitored.site,
            directories,
            counters: servers
                .into_iter()
                .map(|server| Some(server.database?.server()?.counters()))
                .collect(),
            // Without a reactor, the servers' own counters are missing.
            reactor: Reactor::new().ok(),
            others: OtherPrograms::default(),
            last: Instant::now(),
        }
    }

    /// Takes a snapshot that was due `late` ago. The servers come last, because they may take time
    /// to answer.
    pub(super) fn sample(&mut self, late: Duration) -> Snapshot {
        let disks = disks(&*self.site, &self.directories);
        let mut snapshot = Snapshot {
            at: Instant::now(),
            late,
            own_cpu: Duration::ZERO,
            host: host::Sample::take(self.site.files(), &disks),
            generator: process::read(self.site.files(), "self"),
            servers: self.servers.iter_mut().map(SampledServer::sample).collect(),
            others_s: self.others.used_s().clone(),
        };
        self.last = snapshot.at;
        for (server, counters) in snapshot.servers.iter_mut().zip(self.read_counters()) {
            server.counters = counters;
        }
        snapshot.own_cpu = own_cpu();
        snapshot
    }

    /// Identifies the programs besides the trial that used the CPUs since the last sample, or skips
    /// that interval.
    pub(super) fn look_for_others(&mut self, are_others: bool) {
        if !are_others {
            return self.others.skip();
        }
        let here = self
            .servers
            .iter()
            .filter(|server| server.machine.is_none());
        let servers = here.flat_map(|server| [server.process.get(), server.process.manager()]);
        let own: Vec<u32> = servers.flatten().chain([std::process::id()]).collect();
        let seconds = self.last.elapsed().as_secs_f64();
        self.others.look(self.site.files(), &own, seconds);
    }

    fn read_counters(&mut self) -> Vec<Option<Reading>> {
        let read = self
            .reactor
            .as_ref()
            .map(|reactor| reactor.block_on(ask_all(&mut self.counters)));
        read.and_then(Result::ok).unwrap_or_default()
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        if let Some(reactor) = &self.reactor {
            // The monitors are ending, so an error no longer matters.
            let _ = reactor.block_on(leave_all(&mut self.counters));
        }
    }
}

fn disks(site: &dyn Site, directories: &[PathBuf]) -> Vec<String> {
    let disks = directories.iter();
    let mut disks: Vec<String> = disks
        .flat_map(|dir| device::below_dir(site.files(), dir))
        .collect();
    disks.sort();
    disks.dedup();
    disks
}

fn own_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}
