//! One sample of host and servers, and the metrics between two.

use std::time::{Duration, Instant};

use engine::counters::{self, Reading};
use host::process::{self, ProcessChange, ProcessStat};
use host::throttling::{self, Throttling, ThrottlingChange};

use super::values::Values;

/// Everything that was read at an instant; what could not be read is absent.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub(super) at: Instant,
    pub(super) late: Duration,
    /// CPU time of the monitors' thread so far.
    pub(super) own_cpu: Duration,
    pub(super) host: host::Sample,
    pub(super) generator: Option<ProcessStat>,
    pub(super) servers: Vec<Server>,
}

/// One server's part.
#[derive(Debug, Clone)]
pub(super) struct Server {
    pub(super) number: u32,
    pub(super) process: Option<ProcessStat>,
    pub(super) throttling: Option<Throttling>,
    /// What it counts itself.
    pub(super) counters: Option<Reading>,
}

/// The metrics of the interval between two samples.
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
    let generator = before.generator.as_ref().zip(after.generator.as_ref());
    if let Some(step) = generator.and_then(|(b, a)| process::derive(b, a, seconds)) {
        step.put("generator", &mut values);
    }
    servers(before, after, seconds, &mut values);
    values
}

fn servers(before: &Snapshot, after: &Snapshot, seconds: f64, values: &mut Values) {
    let mut processes: Option<ProcessChange> = None;
    let mut quotas: Option<ThrottlingChange> = None;
    let mut engines: Option<counters::Step> = None;
    for (before, after) in before.servers.iter().zip(&after.servers) {
        let whose = format!("server[{}]", after.number);
        let process = before.process.as_ref().zip(after.process.as_ref());
        if let Some(step) = process.and_then(|(b, a)| process::derive(b, a, seconds)) {
            step.put(&whose, values);
            processes.get_or_insert_default().add(&step);
        }
        let quota = before.quota.as_ref().zip(after.quota.as_ref());
        if let Some(step) = quota.and_then(|(b, a)| quota::derive(b, a)) {
            step.put(&whose, values);
            quotas.get_or_insert_default().add(&step);
        }
        let counters = before.counters.as_ref().zip(after.counters.as_ref());
        if let Some(step) = counters.and_then(|(b, a)| counters::derive(b, a)) {
            put(&step, &whose, values);
            match &mut engines {
                Some(all) => all.add(&step),
                None => engines = Some(step),
            }
        }
    }
    if let Some(processes) = processes {
        processes.put("server", values);
    }
    if let Some(quotas) = quotas {
        quotas.put("server", values);
    }
    if let Some(engines) = engines {
        put(&engines, "server", values);
    }
}

fn put(step: &counters::Step, whose: &str, values: &mut Values) {
    for (name, value) in step.metrics() {
        values.put(format!("{whose}.{name}"), value);
    }
}
