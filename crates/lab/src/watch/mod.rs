//! Watches the instances of a trial around its faults: how many transactions have completed, read
//! every 10 ms, and what probes of each member find, on connections of their own.

mod alert;
mod prober;
mod sampler;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Builder, Scope, ScopedJoinHandle, sleep};
use std::time::{Duration, Instant};

use load::{Barrier, Pulse};
use measure::recovery::{FirstWrite, Observed, Probe};
use measure::setup::Class;

use crate::Database;
use crate::failure::{Cause, Failure};
use crate::member_probe::{self, MemberProbe};
use crate::rig::Rig;
use crate::trial::Trial;

use alert::Alert;
use prober::Prober;
use sampler::{Sampled, Sampler};

/// How often to check whether the loads have begun.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// What is watched of an instance. Faults tell it what they do.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) pulse: Arc<Pulse>,
    alert: Alert,
}

/// When and for how long instances are watched.
#[derive(Clone, Copy)]
pub(crate) struct Span<'a> {
    pub(crate) barrier: &'a Barrier,
    /// Becomes true when the loads have ended.
    pub(crate) over: &'a AtomicBool,
}

/// The threads that watch the instances of a trial.
pub(crate) struct Watchers<'scope> {
    sampler: ScopedJoinHandle<'scope, Vec<Sampled>>,
    /// Of each instance.
    probers: Vec<Vec<ScopedJoinHandle<'scope, Vec<Probe>>>>,
}

/// What is to be watched of each instance of a trial; nothing without faults.
pub(crate) fn of(trial: &Trial, rig: &Rig) -> Vec<Watch> {
    match trial.planned.topology.faults.is_empty() {
        true => Vec::new(),
        false => rig.instances.iter().map(|_| Watch::default()).collect(),
    }
}

impl Watch {
    /// A fault is about to be asked for.
    pub(crate) fn asked(&self) {
        self.alert.raise();
    }

    /// A fault has taken effect.
    pub(crate) fn took_effect(&self, at: Instant, barrier: &Barrier) {
        self.alert.took_effect(at);
        self.pulse.await_first(ns(at, barrier));
    }
}

/// Starts watching; `watches` has one for each instance, or none.
///
/// # Errors
/// When the operating system refuses a thread.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    watches: &'env [Watch],
    rig: &'env Rig,
    span: Span<'env>,
) -> Result<Option<Watchers<'scope>>, Failure> {
    if watches.is_empty() {
        return Ok(None);
    }
    let refused = |error| Failure::new(Cause::Internal, error);
    let samplers: Vec<Sampler> = watches.iter().map(Sampler::new).collect();
    let sampler = Builder::new()
        .name("dyno-sampler".to_owned())
        .spawn_scoped(scope, move || sampler::run(samplers, span))
        .map_err(refused)?;
    let mut probers = Vec::new();
    for (index, watch) in watches.iter().enumerate() {
        let mut threads = Vec::new();
        for (server, probe) in probes(rig, index) {
            let prober = Prober::new(server, probe, &watch.alert, span);
            let thread = Builder::new()
                .name(format!("dyno-probe-{server}"))
                .spawn_scoped(scope, move || prober.run());
            threads.push(thread.map_err(refused)?);
        }
        probers.push(threads);
    }
    Ok(Some(Watchers { sampler, probers }))
}

/// A probe of each server of an instance, with the number of the server.
fn probes(rig: &Rig, index: usize) -> Vec<(u32, MemberProbe)> {
    let Some(instance) = rig.instances.get(index) else {
        return Vec::new();
    };
    let Some(cluster) = &instance.cluster else {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let database = instance.endpoint.database.clone();
        return vec![probe(number, database, None)];
    };
    let members = cluster.members().iter();
    members
        .map(|member| probe(member.number, member.database.clone(), cluster.replication()))
        .collect()
}

fn probe(
    server: u32,
    database: Database,
    replication: Option<&'static dyn engine::replication::Replication>,
) -> (u32, MemberProbe) {
    let row = member_probe::row_of_watch(server);
    (server, MemberProbe::new(database, replication, row))
}

impl Watchers<'_> {
    /// Waits until all of them have ended; returns what they saw of each instance between the
    /// beginning and the end of the measurement, in seconds.
    pub(crate) fn join(self, trial: &Trial, measured_s: (f64, f64)) -> Vec<Observed> {
        let sampled = self.sampler.join().unwrap_or_default();
        let kinds = trial.statement_kinds();
        let has_writes = kinds.iter().any(|kind| kind.class == Class::Write);
        let observed = sampled.into_iter().zip(self.probers);
        observed
            .map(|(sampled, probers)| Observed {
                measured_from_s: measured_s.0,
                end_s: measured_s.1,
                counts: sampled.counts.into(),
                errors: sampled.errors,
                first_writes: match has_writes {
                    true => sampled.first_writes,
                    false => Vec::new(),
                },
                probes: probers
                    .into_iter()
                    .flat_map(|prober| prober.join().unwrap_or_default())
                    .collect(),
            })
            .collect()
    }
}

impl Span<'_> {
    /// Waits until the loads have begun; false if the trial ends before.
    fn wait(self) -> bool {
        while !self.is_over() {
            if self.barrier.begun().is_some() {
                return true;
            }
            sleep(POLL_INTERVAL);
        }
        false
    }

    fn is_over(self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// A time on the trial's clock, in seconds.
    fn seconds(self, at: Instant) -> f64 {
        seconds(ns(at, self.barrier))
    }
}

/// A time on the trial's clock.
fn ns(at: Instant, barrier: &Barrier) -> u64 {
    let elapsed = at.saturating_duration_since(barrier.origin());
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn first_writes(pulse: &Pulse) -> Vec<FirstWrite> {
    let firsts = pulse.firsts().into_iter();
    let writes = firsts.map(|first| FirstWrite {
        since_s: seconds(first.since_ns),
        end_s: first.end_ns.map(seconds),
    });
    writes.collect()
}
