//! Watches the instances of a trial around faults: reads every 10 ms how many transactions have
//! completed, and probes each member on a connection of its own.

mod alert;
mod prober;
mod sampler;

use plan::StatementClass;
use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use engine::replication::Replication;
use load::Pulse;
use measure::recovery::{self, FirstWrite, Observed, Probe};

use crate::Database;
use crate::clock::{Clock, seconds};
use crate::failure::Failure;
use crate::instance::Instance;
use crate::member_probe;
use crate::observer::Observer;
use crate::rig::Rig;
use crate::threads;
use crate::trial::Trial;
use crate::trial_monitor::LoadResults;

use alert::Alert;
use prober::Prober;
use sampler::{Sampled, Sampler};

/// The watched data of an instance, which faults notify.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    pub(crate) pulse: Arc<Pulse>,
    alert: Alert,
}

pub(crate) struct Watchers<'scope> {
    sampler: ScopedJoinHandle<'scope, Vec<Sampled>>,
    /// Probers of each instance.
    probers: Vec<Vec<ScopedJoinHandle<'scope, Vec<Probe>>>>,
}

/// Prepares to watch the instances of a trial with faults. Returns nothing for trials without
/// faults.
pub(crate) fn open(trial: &Trial, rig: &Rig, observer: &mut dyn Observer) -> Vec<Watch> {
    if trial.planned.topology.faults.is_empty() {
        return Vec::new();
    }
    let open = |index: usize| {
        // The follower of a cluster's primary has already created its table.
        let is_group = rig
            .instances
            .get(index)
            .and_then(Instance::as_group)
            .is_some();
        let servers = servers(rig, index);
        let created = servers.first().filter(|_| !is_group).map(|server| {
            member_probe::create_table(server.database, std::iter::once(server.number))
        });
        if let Some(Err(error)) = created {
            observer.note(&format!(
                "recovery is measured without writes of its own: cannot create a table: {error}"
            ));
        }
        Watch::default()
    };
    (0..rig.instances.len()).map(open).collect()
}

impl Watch {
    /// Called before a fault is requested.
    pub(crate) fn asked(&self) {
        self.alert.raise();
    }

    /// Called when a fault has taken effect.
    pub(crate) fn took_effect(&self, at: Instant, clock: Clock<'_>) {
        self.alert.took_effect(at);
        self.pulse.await_first(clock.ns(at));
    }
}

/// Starts the threads. `watches` has an element for each instance, or is empty.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    watches: &'env [Watch],
    rig: &'env Rig,
    clock: Clock<'env>,
) -> Result<Option<Watchers<'scope>>, Failure> {
    if watches.is_empty() {
        return Ok(None);
    }
    let samplers: Vec<Sampler> = watches.iter().map(Sampler::new).collect();
    let sample = move || sampler::run(samplers, clock);
    let sampler = threads::spawn(scope, "dyno-sampler".to_owned(), sample)?;
    let mut probers = Vec::new();
    for (index, watch) in watches.iter().enumerate() {
        let spawn = |server: Server<'env>| {
            let name = format!("dyno-probe-{}", server.number);
            threads::spawn(scope, name, move || {
                Prober::new(&server, &watch.alert, clock).run()
            })
        };
        let of_instance = servers(rig, index).into_iter().map(spawn);
        probers.push(of_instance.collect::<Result<_, Failure>>()?);
    }
    Ok(Some(Watchers { sampler, probers }))
}

struct Server<'a> {
    number: u32,
    database: &'a Database,
    replication: Option<&'static dyn Replication>,
}

fn servers(rig: &Rig, index: usize) -> Vec<Server<'_>> {
    let Some(instance) = rig.instances.get(index) else {
        return Vec::new();
    };
    let Some(group) = instance.as_group() else {
        return vec![Server {
            number: u32::try_from(index + 1).unwrap_or(u32::MAX),
            database: &instance.endpoint.database,
            replication: None,
        }];
    };
    let members = group.members.iter().map(|(number, database)| Server {
        number: *number,
        database,
        replication: group.replication,
    });
    members.collect()
}

impl Watchers<'_> {
    /// Waits until all threads have ended, and adds to the faults how the instances recovered.
    pub(crate) fn conclude(
        self,
        trial: &Trial,
        rig: &Rig,
        results: &mut LoadResults,
        observer: &mut dyn Observer,
    ) {
        let (begin_ns, end_ns) = results.measured_ns.unwrap_or_default();
        let kinds = trial.statement_kinds();
        let has_writes = kinds.iter().any(|kind| kind.class == StatementClass::Write);
        let sampled = threads::join(self.sampler).into_iter().zip(self.probers);
        let loads = rig
            .instances
            .iter()
            .zip(std::mem::take(&mut results.seconds));
        for ((number, (sampled, probers)), (instance, of_load)) in (1..).zip(sampled).zip(loads) {
            let probers = probers.into_iter();
            let group = instance.as_group();
            let observed = Observed {
                measured_from_s: seconds(begin_ns),
                end_s: seconds(end_ns),
                counts: sampled.counts.into(),
                seconds: of_load,
                errors: sampled.errors,
                first_writes: match has_writes {
                    true => sampled.first_writes,
                    false => Vec::new(),
                },
                probes: probers.flat_map(threads::join).collect(),
                has_many_primaries: group.is_some_and(|group| group.has_many_primaries()),
            };
            let faults = results.faults.iter_mut();
            let mut faults: Vec<_> = faults.filter(|fault| fault.instance == number).collect();
            faults.sort_by(|one, other| one.asked_s.total_cmp(&other.asked_s));
            recovery::recover(&observed, &mut faults);
            for series in recovery::series(&observed, &faults) {
                observer.fault_series(&series);
            }
        }
    }
}

fn first_writes(pulse: &Pulse) -> Vec<FirstWrite> {
    let firsts = pulse.firsts().into_iter();
    let writes = firsts.map(|first| FirstWrite {
        since_s: seconds(first.since_ns),
        end_s: first.end_ns.map(seconds),
    });
    writes.collect()
}
