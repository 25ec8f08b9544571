//! Watches the instances of a trial around faults: reads every 10 ms how many transactions have
//! completed, and computes the recoveries from that and from what probes of the members found.

mod sampler;

use std::sync::Arc;
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Instant;

use client::route::Route;
use load::Pulse;
use measure::recovery::{self, FirstWrite, Observed, Probe};
use plan::StatementClass;

use crate::drive::clock::{Clock, seconds};
use crate::drive::threads;
use crate::drive::trial_loop::LoadResults;
use crate::failure::Failure;
use crate::observe::probe::Alert;
use crate::observer::Observer;
use crate::setup::rig::Rig;
use crate::trial::Trial;

pub(crate) use sampler::Sampled;
use sampler::Sampler;

/// What is watched of an instance; faults tell it when they happen.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) pulse: Arc<Pulse>,
    pub(crate) alert: Alert,
    /// Alerts the probers of the instance.
    route: Arc<Route>,
}

impl Watch {
    pub(crate) fn new(route: &Arc<Route>) -> Self {
        Self {
            pulse: Arc::default(),
            alert: Alert::default(),
            route: Arc::clone(route),
        }
    }

    /// Called before a fault is requested.
    pub(crate) fn asked(&self) {
        self.alert.raise();
        self.route.alert();
    }

    /// Called when a fault has taken effect.
    pub(crate) fn took_effect(&self, at: Instant, clock: Clock<'_>) {
        self.alert.took_effect(at);
        self.pulse.await_first(clock.ns(at));
    }
}

/// Starts the thread that reads the pulses of all loads, unless nothing is watched.
pub(crate) fn spawn<'scope, 'env>(
    scope: &'scope Scope<'scope, 'env>,
    watches: &'env [Watch],
    clock: Clock<'env>,
) -> Result<Option<ScopedJoinHandle<'scope, Vec<Sampled>>>, Failure> {
    if watches.is_empty() {
        return Ok(None);
    }
    let samplers: Vec<Sampler> = watches.iter().map(Sampler::new).collect();
    let sample = move || sampler::run(samplers, clock);
    threads::spawn(scope, "dyno-sampler".to_owned(), sample).map(Some)
}

/// Adds to the faults how the instances recovered, from what was read and probed of each of them.
pub(crate) fn conclude(
    trial: &Trial,
    rig: &Rig,
    sampled: Vec<Sampled>,
    probes: Vec<Vec<Probe>>,
    results: &mut LoadResults,
    observer: &mut dyn Observer,
) {
    let (begin_ns, end_ns) = results.measured_ns.unwrap_or_default();
    let kinds = trial.statement_kinds();
    let has_writes = kinds.iter().any(|kind| kind.class == StatementClass::Write);
    let seen = sampled.into_iter().zip(probes);
    let loads = std::mem::take(&mut results.seconds);
    let instances = rig.instances.iter().zip(loads);
    for ((number, (sampled, probes)), (instance, seconds_of_load)) in (1..).zip(seen).zip(instances)
    {
        let observed = Observed {
            measured_from_s: seconds(begin_ns),
            end_s: seconds(end_ns),
            counts: sampled.counts.into(),
            seconds: seconds_of_load,
            errors: sampled.errors,
            first_writes: match has_writes {
                true => sampled.first_writes,
                false => Vec::new(),
            },
            probes,
            has_many_primaries: instance.cluster.has_many_primaries(),
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

fn first_writes(pulse: &Pulse) -> Vec<FirstWrite> {
    let firsts = pulse.firsts().into_iter();
    let writes = firsts.map(|first| FirstWrite {
        since_s: seconds(first.since_ns),
        end_s: first.end_ns.map(seconds),
    });
    writes.collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_fault_ends_a_long_wait_of_the_probers() {
        let route = Arc::new(Route::fixed());
        let watch = Watch::new(&route);
        let hour = Duration::from_secs(3600);
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| route.wait_for_alert(0, hour));
            watch.asked();
            assert_eq!(waiting.join().unwrap(), 1);
        });
    }
}
