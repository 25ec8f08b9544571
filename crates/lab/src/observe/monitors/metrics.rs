//! A snapshot of host and servers, the metrics between two snapshots, and those over the measure
//! phase.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use engine::counters;
use host::group::{self, Usage, UsageChange};
use host::process::{self, ProcessChange, ProcessStat};
use measure::metric::{Metric, MetricSummary, Metrics, Reading, bracketed};
use measure::values::Values;

/// Precedes the metrics of a server's machine.
const SITE: &str = "site";

/// The counters at one instant, except those that could not be read.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Instant,
    pub(super) late: Duration,
    pub(super) own_cpu: Duration,
    pub(super) host: host::Sample,
    /// dyno itself, and the agents on this host.
    pub(super) generators: Vec<Option<ProcessStat>>,
    pub(super) servers: Vec<ServerSnapshot>,
    /// CPU time that other programs have used, in seconds.
    pub(super) others_s: BTreeMap<String, f64>,
}

#[derive(Debug, Clone)]
pub(super) struct ServerSnapshot {
    pub(super) number: u32,
    /// When the counters were read; another machine takes a while to answer.
    pub(super) at: Instant,
    pub(super) process: Option<ProcessStat>,
    pub(super) manager: Option<ProcessStat>,
    /// The machine that the server runs on, if it is not this host.
    pub(super) machine: Option<host::Sample>,
    pub(super) usage: Option<Usage>,
    pub(super) counters: Option<counters::Reading>,
}

pub(super) fn derive(before: &Snapshot, after: &Snapshot) -> Values {
    let seconds = after.at.duration_since(before.at).as_secs_f64();
    let mut values = Values::default();
    if seconds <= 0.0 {
        return values;
    }
    let monitors = after.own_cpu.saturating_sub(before.own_cpu);
    values.put(
        "monitor.cpu_ms",
        Some(monitors.as_secs_f64() * 1000.0 / seconds),
    );
    values.put("monitor.late_ms", Some(after.late.as_secs_f64() * 1000.0));
    host::sample::derive(&before.host, &after.host, seconds, &mut values);
    let generators = before.generators.iter().zip(&after.generators);
    let changes =
        generators.filter_map(|(b, a)| process::derive(b.as_ref()?, a.as_ref()?, seconds));
    let all = changes.reduce(|mut all, one| {
        all.add(&one);
        all
    });
    if let Some(change) = all {
        change.put("generator", &mut values);
    }
    servers(before, after, &mut values);
    for (program, used_s) in &after.others_s {
        let grown_s = used_s - before.others_s.get(program).unwrap_or(&0.0);
        let cpu = (grown_s > 0.0).then_some(100.0 * grown_s / seconds);
        values.put(bracketed("other.cpu", program), cpu);
    }
    let get = |name: &str| values.0.get(name).copied();
    let written = get("disk.write_mb_per_s").zip(get("server.write_mb_per_s"));
    let amplification = written.map(|(devices, servers)| devices / servers);
    values.put("write_amplification", amplification);
    values
}

/// The share of all CPUs (0 to 1) that neither the servers on this host nor dyno used.
pub(super) fn others_share(values: &Values) -> Option<f64> {
    let get = |name: &str| values.0.get(name).copied();
    let is_core = |name: &&String| name.starts_with("cpu[") && name.ends_with("].idle");
    let cpus = values.0.keys().filter(is_core).count() as f64;
    let busy = 100.0 - get("cpu.idle")? - get("cpu.iowait").unwrap_or(0.0);
    let ours = get("generator.cpu").unwrap_or(0.0) + get("server.cpu").unwrap_or(0.0);
    Some(busy / 100.0 - ours / 100.0 / cpus).filter(|share| share.is_finite())
}

/// The metrics of each server, `server[1].…`, and of all servers together, `server.…`.
fn servers(before: &Snapshot, after: &Snapshot, values: &mut Values) {
    let mut processes: Option<ProcessChange> = None;
    let mut usages: Option<UsageChange> = None;
    let mut counters: Option<counters::Step> = None;
    for (before, after) in before.servers.iter().zip(&after.servers) {
        let owner = format!("server[{}]", after.number);
        let seconds = after.at.duration_since(before.at).as_secs_f64();
        if seconds <= 0.0 {
            continue;
        }
        if let Some((from, to)) = before.machine.as_ref().zip(after.machine.as_ref()) {
            machine(after.number, from, to, seconds, values);
        }
        let change = |before: Option<ProcessStat>, after: Option<ProcessStat>| {
            process::derive(&before?, &after?, seconds)
        };
        let mut process = change(before.process, after.process);
        if let Some(manager) = change(before.manager, after.manager) {
            process.get_or_insert_default().add(&manager);
        }
        if let Some(change) = process {
            change.put(&owner, values);
            change.put_written(&owner, values);
            processes.get_or_insert_default().add(&change);
        }
        if let (Some(before), Some(after)) = (&before.usage, &after.usage) {
            let change = group::derive(before, after, seconds);
            change.put(&owner, values);
            usages.get_or_insert_default().add(&change);
        }
        let both = before.counters.as_ref().zip(after.counters.as_ref());
        if let Some(change) = both.and_then(|(b, a)| counters::derive(b, a)) {
            put(&change, &owner, values);
            match &mut counters {
                Some(all) => all.add(&change),
                None => counters = Some(change),
            }
        }
    }
    if let Some(processes) = processes {
        processes.put("server", values);
        processes.put_written("server", values);
    }
    if let Some(usages) = usages {
        usages.put("server", values);
    }
    if let Some(counters) = counters {
        put(&counters, "server", values);
    }
}

/// The metrics of a server's machine, `site[1].…`; those of the first one also without the number.
fn machine(
    number: u32,
    before: &host::Sample,
    after: &host::Sample,
    seconds: f64,
    values: &mut Values,
) {
    let mut all = Values::default();
    host::sample::derive(before, after, seconds, &mut all);
    for (name, value) in all.0 {
        let name = format!("{SITE}.{name}");
        if Metric::find(&name).is_none() {
            continue;
        }
        values.put(bracketed(&name, &number.to_string()), Some(value));
        if number == 1 {
            values.put(name, Some(value));
        }
    }
}

fn put(counters: &counters::Step, owner: &str, values: &mut Values) {
    for (name, value) in counters.metrics() {
        values.put(format!("{owner}.{name}"), value);
    }
}

/// The first snapshot of the measure phase, and the metrics of the intervals since.
#[derive(Debug, Default)]
pub(super) struct MeasureWindow {
    first: Option<Snapshot>,
    stats: BTreeMap<String, MetricStats>,
}

#[derive(Debug, Clone, Copy)]
struct MetricStats {
    count: f64,
    sum: f64,
    seconds: f64,
    /// Sum of the values, each times the length of its interval.
    weighted: f64,
    min: f64,
    max: f64,
}

impl Default for MetricStats {
    fn default() -> Self {
        Self {
            count: 0.0,
            sum: 0.0,
            seconds: 0.0,
            weighted: 0.0,
            min: f64::INFINITY,
            max: f64::NEG_INFINITY,
        }
    }
}

impl MeasureWindow {
    /// Begins with the first snapshot of the measure phase; later calls have no effect.
    pub(super) fn begin(&mut self, snapshot: &Snapshot) {
        self.first.get_or_insert_with(|| snapshot.clone());
    }

    /// Adds an interval, if the measure phase has begun.
    pub(super) fn add(&mut self, values: &Values, seconds: f64) {
        if self.first.is_none() {
            return;
        }
        for (name, value) in &values.0 {
            let stats = self.stats.entry(name.clone()).or_default();
            stats.add(*value, seconds);
        }
    }

    /// Summarizes counters over exactly the time from the first to the last snapshot, and levels by
    /// the mean over the intervals.
    pub(super) fn summarize(self, last: &Snapshot) -> Metrics {
        let Some(first) = self.first else {
            return Metrics::new();
        };
        let seconds = last.at.duration_since(first.at).as_secs_f64();
        let whole = derive(&first, last).0;
        let mut stats = self.stats;
        for (name, value) in &whole {
            let stats = stats.entry(name.clone()).or_default();
            if stats.count == 0.0 {
                // The whole phase was shorter than an interval.
                stats.add(*value, seconds);
            }
        }
        stats
            .into_iter()
            .map(|(name, stats)| {
                let summary = stats.summary(&name, whole.get(&name).copied());
                (name, summary)
            })
            .collect()
    }
}

impl MetricStats {
    fn add(&mut self, value: f64, seconds: f64) {
        self.count += 1.0;
        self.sum += value;
        self.seconds += seconds;
        self.weighted += value * seconds;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// `whole` is the metric between the first and the last snapshot; `None` if its counter was
    /// reset in between.
    fn summary(&self, name: &str, whole: Option<f64>) -> MetricSummary {
        let is_level = Metric::find(name).is_some_and(|metric| metric.reading == Reading::Level);
        let mean = match whole {
            _ if is_level => self.sum / self.count,
            Some(whole) => whole,
            None => self.weighted / self.seconds,
        };
        MetricSummary {
            mean,
            // The mean may include a remainder that was too short for an interval.
            min: self.min.min(mean),
            max: self.max.max(mean),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    fn snapshot() -> Snapshot {
        Snapshot {
            at: Instant::now(),
            late: Duration::ZERO,
            own_cpu: Duration::ZERO,
            host: host::Sample::default(),
            generators: Vec::new(),
            servers: Vec::new(),
            others_s: BTreeMap::new(),
        }
    }

    fn values(pairs: &[(&str, f64)]) -> Values {
        let mut values = Values::default();
        for (name, value) in pairs {
            values.put(*name, Some(*value));
        }
        values
    }

    #[test]
    fn levels_and_reset_counters_are_means_over_intervals() {
        let mut window = MeasureWindow::default();
        window.add(&values(&[("server.cpu", 99.0)]), 1.0);
        window.begin(&snapshot());
        window.add(
            &values(&[("memory.dirty_bytes", 1.0), ("server.cpu", 10.0)]),
            3.0,
        );
        window.add(
            &values(&[("memory.dirty_bytes", 2.0), ("server.cpu", 50.0)]),
            1.0,
        );
        window.add(&values(&[("memory.dirty_bytes", 6.0)]), 1.0);
        let stats = |name: &str, whole| window.stats[name].summary(name, whole);
        let dirty = stats("memory.dirty_bytes", Some(6.0));
        assert_eq!((dirty.mean, dirty.min, dirty.max), (3.0, 1.0, 6.0));
        assert_eq!(stats("server.cpu", Some(30.0)).mean, 30.0);
        assert_eq!(stats("server.cpu", None).mean, 20.0);
        assert_eq!(stats("server.cpu", Some(60.0)).max, 60.0);
    }

    #[test]
    fn without_a_snapshot_there_are_no_metrics() {
        assert_eq!(
            MeasureWindow::default().summarize(&snapshot()),
            Metrics::new()
        );
    }
}
