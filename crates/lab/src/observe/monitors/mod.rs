//! Monitors host and servers under load: a thread samples all of them once a second on the load's
//! clock.
//!
//! A snapshot holds counters; the metrics of an interval are derived from two snapshots
//! (`metrics`). `host` reads the counters of the machine. `measure::metric::METRICS` names and
//! explains all metrics.

mod metrics;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use client::reactor::Reactor;
use engine::counters::{Counters, Reading, ask_all, leave_all};
use host::{Files, OtherPrograms, ReadAhead, device, process};
use measure::metric::{Metrics, MonitorPoint};
use rustix::time::{ClockId, clock_gettime};

use crate::Database;
use crate::servers::ProcessId;
use crate::site::{Site, ThisHost};
use metrics::{MeasureWindow, ServerSnapshot, Snapshot, derive, others_share};

const SECOND: Duration = Duration::from_secs(1);
/// The shortest interval with metrics, because the kernel counts CPU time in hundredths of a
/// second.
const MIN_INTERVAL: Duration = Duration::from_millis(500);

/// Share of the CPUs (0 to 1) used by other programs above which they are identified.
const OTHERS_SHARE: f64 = 0.1;

#[derive(Debug, Clone)]
pub struct MonitoredServer {
    /// The number in the metrics' names, counted from 1.
    pub number: u32,
    pub site: Arc<dyn Site>,
    /// The server's process, if known. Follows restarts.
    pub process: ProcessId,
    /// The directories of data and log, as far as they are on the server's site.
    pub directories: Vec<PathBuf>,
    /// The database whose counters are read over a connection; `None` if they are not monitored.
    pub database: Option<Database>,
    /// Whether dyno started this server. dyno never freezes others, which may have other clients.
    pub is_own: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct SampleClock {
    /// The origin of [`MonitorPoint::t_s`].
    pub origin: Instant,
    /// The start of the load, and the time of the first sample.
    pub begin: Instant,
    /// The start of the measure phase. A sample is taken then and every second after it.
    pub measure: Instant,
}

impl SampleClock {
    /// When the next sample is due after one that was due at `due` and taken `at`. Samples that are
    /// already overdue are skipped, and so is one that would follow too soon.
    fn after(&self, due: Instant, at: Instant) -> Instant {
        let missed = (at + MIN_INTERVAL).saturating_duration_since(due).as_secs();
        let next = due + SECOND + Duration::from_secs(missed);
        match due < self.measure {
            true => next.min(self.measure),
            false => next,
        }
    }
}

#[derive(Debug)]
pub struct Monitors {
    /// Sends the clock when the load begins; dropped to stop the thread.
    clock: Sender<SampleClock>,
    thread: JoinHandle<Metrics>,
}

/// Prepares the monitors: finds disks and connects to the servers, which may take seconds on
/// another machine, and longer once it is under load. `on_interval` receives the metrics of each
/// interval on the monitors' thread. A server that cannot be reached is missing from the metrics
/// and retried; everything else is still sampled. `known` are processes of servers that take turns
/// with these.
pub fn prepare(
    servers: Vec<MonitoredServer>,
    known: Vec<ProcessId>,
    agents: Vec<u32>,
    mut on_interval: Box<dyn FnMut(MonitorPoint) + Send>,
) -> std::io::Result<Monitors> {
    let (clock, clocks) = channel();
    let (prepared, is_prepared) = channel::<()>();
    let thread = std::thread::Builder::new()
        .name("dyno-monitors".to_owned())
        .spawn(move || {
            let mut sampler = Sampler::new(servers, known, agents);
            sampler.sample(Duration::ZERO);
            drop(prepared);
            // Disconnected if the load fails to begin.
            let clock = clocks.recv().ok();
            let sampled = clock.map(|clock| sample(sampler, clock, &clocks, &mut *on_interval));
            sampled.unwrap_or_default()
        })?;
    // Disconnected once the thread has dropped its end.
    let _ = is_prepared.recv();
    Ok(Monitors { clock, thread })
}

impl Monitors {
    pub fn begin(&self, clock: SampleClock) {
        // The thread has ended only if it panicked.
        let _ = self.clock.send(clock);
    }

    /// Takes the last sample and returns the metrics of the measure phase so far; none if it has
    /// not begun. Returns within a second, even if a server does not answer.
    pub fn stop(self) -> Metrics {
        drop(self.clock);
        // There are no metrics if the thread panicked.
        self.thread.join().unwrap_or_default()
    }
}

fn sample(
    mut sampler: Sampler,
    clock: SampleClock,
    stop: &Receiver<SampleClock>,
    on_interval: &mut dyn FnMut(MonitorPoint),
) -> Metrics {
    let mut window = MeasureWindow::default();
    let mut last: Option<Snapshot> = None;
    let mut due = clock.begin;
    let mut are_others = true;
    loop {
        let wait = due.saturating_duration_since(Instant::now());
        let received = stop.recv_timeout(wait);
        let stopped = matches!(received, Err(RecvTimeoutError::Disconnected));
        sampler.look_for_others(are_others);
        let now = Instant::now();
        let snapshot = sampler.sample(now.saturating_duration_since(due));
        are_others = last.is_none();
        let interval = last.as_ref();
        let interval = interval.map(|before| (before, snapshot.at.duration_since(before.at)));
        if let Some((before, length)) = interval.filter(|(_, length)| *length >= MIN_INTERVAL) {
            let (seconds, values) = (length.as_secs_f64(), derive(before, &snapshot));
            are_others = others_share(&values).is_some_and(|share| share > OTHERS_SHARE);
            window.add(&values, seconds);
            let begun = before.at.saturating_duration_since(clock.origin);
            on_interval(MonitorPoint {
                t_s: begun.as_secs_f64(),
                seconds,
                values: values.0,
            });
        }
        if now >= clock.measure {
            window.begin(&snapshot);
        }
        if stopped {
            return window.summarize(&snapshot);
        }
        due = clock.after(due, snapshot.at);
        last = Some(snapshot);
    }
}

struct Sampler {
    /// The host that dyno runs on.
    host: ThisHost,
    servers: Vec<SampledServer>,
    /// Directories of the servers' data and logs on this host; faults may replace the devices below
    /// them.
    directories: Vec<PathBuf>,
    counters: Vec<Option<Box<dyn Counters>>>,
    reactor: Option<Reactor>,
    /// Servers of other trials, which are no foreign programs.
    known: Vec<ProcessId>,
    /// Agents of the load on this host.
    agents: Vec<u32>,
    others: OtherPrograms,
    last: Instant,
}

struct SampledServer {
    server: MonitoredServer,
    /// Sampled with the server if it does not run on this host.
    disks: Vec<String>,
    /// The files that the last sample read on another machine.
    paths: Vec<PathBuf>,
}

impl SampledServer {
    fn new(server: MonitoredServer) -> Self {
        Self {
            disks: disks(&*server.site, &server.directories),
            paths: Vec::new(),
            server,
        }
    }

    fn sample(&mut self) -> ServerSnapshot {
        let files = self.server.site.files();
        if self.server.site.is_here() {
            return self.snapshot(Instant::now(), files, None);
        }
        let asked = Instant::now();
        let files = ReadAhead::new(files, std::mem::take(&mut self.paths));
        // The files were read at some moment during the exchange; take its middle.
        let at = asked + asked.elapsed() / 2;
        let sample = host::Sample::take(&files, &self.disks);
        let snapshot = self.snapshot(at, &files, Some(sample));
        self.paths = files.into_paths();
        snapshot
    }

    fn snapshot(
        &self,
        at: Instant,
        files: &dyn Files,
        machine: Option<host::Sample>,
    ) -> ServerSnapshot {
        let read = |pid| process::read_family(files, pid);
        let [process, manager] = self.server.process.ids();
        ServerSnapshot {
            number: self.server.number,
            at,
            process: process.and_then(read),
            manager: manager.and_then(read),
            machine,
            usage: self.server.site.usage(),
            counters: None,
        }
    }
}

impl Sampler {
    /// Must be called on the thread that takes the snapshots.
    fn new(servers: Vec<MonitoredServer>, known: Vec<ProcessId>, agents: Vec<u32>) -> Self {
        let here = servers.iter().filter(|server| server.site.is_here());
        let directories = here.flat_map(|server| server.directories.clone()).collect();
        let counters = servers.iter();
        let counters = counters.map(|server| Some(server.database.as_ref()?.server()?.counters()));
        Self {
            counters: counters.collect(),
            servers: servers.into_iter().map(SampledServer::new).collect(),
            host: ThisHost::default(),
            directories,
            // Without a reactor, the servers' own counters are missing.
            reactor: Reactor::new().ok(),
            known,
            agents,
            others: OtherPrograms::default(),
            last: Instant::now(),
        }
    }

    /// Takes a snapshot that was due `late` ago. The servers come last, because they may take time
    /// to answer.
    fn sample(&mut self, late: Duration) -> Snapshot {
        let disks = disks(&self.host, &self.directories);
        let mut snapshot = Snapshot {
            at: Instant::now(),
            late,
            own_cpu: Duration::ZERO,
            host: host::Sample::take(self.host.files(), &disks),
            generators: std::iter::once(std::process::id())
                .chain(self.agents.iter().copied())
                .map(|process| process::read(self.host.files(), process))
                .collect(),
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
    fn look_for_others(&mut self, are_others: bool) {
        if !are_others {
            return self.others.skip();
        }
        let here = self.servers.iter().filter(|one| one.server.site.is_here());
        let servers = here
            .map(|one| &one.server.process)
            .chain(&self.known)
            .flat_map(ProcessId::ids);
        let own = servers.flatten().chain([std::process::id()]);
        let own: Vec<u32> = own.chain(self.agents.iter().copied()).collect();
        let seconds = self.last.elapsed().as_secs_f64();
        self.others.look(self.host.files(), &own, seconds);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_due_each_second_and_at_the_start_of_the_measure_phase() {
        let begin = Instant::now();
        let at = |ms| begin + Duration::from_millis(ms);
        let clock = SampleClock {
            origin: begin,
            begin,
            measure: at(1500),
        };
        assert_eq!(clock.after(begin, at(1)), at(1000));
        assert_eq!(clock.after(at(1000), at(1001)), at(1500));
        assert_eq!(clock.after(at(1500), at(1501)), at(2500));
        assert_eq!(clock.after(at(2500), at(2999)), at(3500));
        // Samples that would follow too soon or are past are skipped.
        assert_eq!(clock.after(at(2500), at(3001)), at(4500));
        assert_eq!(clock.after(at(2500), at(6600)), at(7500));
        // The one at the start of the measure phase is never skipped.
        assert_eq!(clock.after(at(1000), at(9000)), at(1500));
    }
}
