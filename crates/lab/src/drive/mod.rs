//! Drives all instances of a trial at once, each with a load of its own.

pub(crate) mod clock;
mod early_stop;
pub(crate) mod files;
pub(crate) mod find_max;
mod merge;
pub(crate) mod threads;
pub(crate) mod trial_loop;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;

use client::route::Route;
use engine::StatementSettings;
use load::{Barrier, LoadError, LoadEvent, LoadOutcome, LoadSpec, Stop};
use plan::ReplyTime;
use workload::built_in::BuiltIn;

use crate::Database;
use crate::drive::clock::Clock;
use crate::drive::trial_loop::{LoadMessage, LoadResults, TrialLoop, TrialMessage};
use crate::failure::Failure;
use crate::faults;
use crate::ledger::{self, Ledger};
use crate::observe::monitors::{self, Monitors};
use crate::observe::probe::{self, Probers};
use crate::observe::watch::{self, Watch};
use crate::run::Run;
use crate::setup::rig::Rig;
use crate::trial::Trial;

/// All loads start together.
pub(crate) fn drive(
    trial: &Trial,
    rig: &Rig,
    ledgers: &[Ledger<'_>],
    run: &mut Run<'_>,
) -> Result<LoadResults, Failure> {
    raise_file_limit(trial)?;
    let outputs = faults::outputs(trial, run.observer)?;
    let prepared = probe::prepare(trial, rig, run);
    let driven = prepared.and_then(|()| drive_with(&outputs, ledgers, trial, rig, run));
    probe::clean_up(trial, rig);
    driven
}

/// `outputs` is the directory for the output of commands.
fn drive_with(
    outputs: &Path,
    ledgers: &[Ledger<'_>],
    trial: &Trial,
    rig: &Rig,
    run: &mut Run<'_>,
) -> Result<LoadResults, Failure> {
    let (sender, messages) = channel();
    let monitors = prepare_monitors(trial, rig, &sender, run);
    let barrier = Barrier::new(trial.planned.topology.instances);
    let (stop, over) = (Stop::default(), AtomicBool::new(false));
    let clock = Clock {
        barrier: &barrier,
        over: &over,
    };
    let (follow, interrupted) = (trial.planned.topology.follow, run.interrupted);
    let routes = rig.instances.iter();
    let routes: Vec<_> = routes
        .map(|one| Arc::new(one.cluster.route(follow)))
        .collect();
    let watched = routes.iter().filter(|_| trial.has_faults());
    let watches: Vec<Watch> = watched.map(Watch::new).collect();
    std::thread::scope(|scope| {
        let end = EndTrial(&stop, &over);
        let mut probers = Vec::new();
        for (index, (instance, route)) in rig.instances.iter().zip(&routes).enumerate() {
            let of_instance = Probers {
                cluster: &instance.cluster,
                follow,
                route: Arc::clone(route),
                watch: watches.get(index),
                clock,
                sender: sender.clone(),
            };
            probers.push(of_instance.spawn(scope)?);
        }
        for (index, (instance, route)) in rig.instances.iter().zip(&routes).enumerate() {
            let load = Load {
                trial,
                index,
                database: &instance.database,
                route,
                watch: watches.get(index),
                barrier: &barrier,
                stop: &stop,
                sender: sender.clone(),
            };
            load.spawn(scope)?;
        }
        let schedule = faults::Schedule {
            trial,
            rig,
            outputs,
            watches: &watches,
            clock,
            interrupted,
        };
        let faults = faults::spawn(scope, schedule, &sender)?;
        let schedule = ledger::Schedule { trial, clock };
        let ledgers = ledger::spawn(scope, schedule, ledgers)?;
        let sampler = watch::spawn(scope, &watches, clock)?;
        let mut trial_loop = TrialLoop::new(trial, rig, &barrier, &stop, monitors, run.observer);
        trial_loop.run(&messages, interrupted);
        drop(end);
        let probers = probers.into_iter();
        let probes =
            probers.map(|of_instance| of_instance.into_iter().flat_map(threads::join).collect());
        let probes = probes.collect();
        faults.into_iter().chain(ledgers).for_each(threads::join);
        trial_loop.receive_rest(&messages);
        let mut results = trial_loop.into_results()?;
        if let Some(sampler) = sampler {
            let sampled = threads::join(sampler);
            watch::conclude(trial, rig, sampled, probes, &mut results, run.observer);
        }
        Ok(results)
    })
}

/// Prepares the monitors before the load keeps the servers busy.
fn prepare_monitors(
    trial: &Trial,
    rig: &Rig,
    sender: &Sender<TrialMessage>,
    run: &mut Run<'_>,
) -> Option<Monitors> {
    if !trial.planned.monitors {
        return None;
    }
    let sender = sender.clone();
    // The trial may end before the monitors.
    let on_interval = Box::new(move |point| drop(sender.send(TrialMessage::Monitored(point))));
    let prepared = monitors::prepare(rig.monitored(), on_interval);
    let noted = prepared.inspect_err(|error| {
        let note = format!("cannot monitor host and servers: {error}");
        run.observer.note(&note);
    });
    noted.ok()
}

/// On drop, ends loads and faults however the trial's loop returned: the scope waits for their
/// threads.
struct EndTrial<'a>(&'a Stop, &'a AtomicBool);

impl Drop for EndTrial<'_> {
    fn drop(&mut self) {
        self.0.interrupt();
        self.1.store(true, Ordering::Relaxed);
    }
}

/// An instance's load whose thread has not started.
struct Load<'a> {
    trial: &'a Trial,
    index: usize,
    database: &'a Database,
    route: &'a Arc<Route>,
    watch: Option<&'a Watch>,
    barrier: &'a Barrier,
    stop: &'a Stop,
    sender: Sender<TrialMessage>,
}

impl<'a> Load<'a> {
    fn spawn<'scope>(self, scope: &'scope Scope<'scope, '_>) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        let trial = self.trial;
        let spec = trial.load(self.index, self.database);
        let workload = BuiltIn::new(
            trial.workload,
            &trial.options,
            self.database.engine().dialect(),
            spec.seed,
            spec.users,
        )
        .map_err(Failure::usage)?;
        let name = format!("dyno-load-{}", self.index + 1);
        let run = move || {
            let ended = catching_panics(|| self.run(&spec, &workload));
            self.send(LoadMessage::Ended(ended));
        };
        threads::spawn(scope, name, run).map(drop)
    }

    fn run(&self, spec: &LoadSpec, workload: &BuiltIn) -> Result<LoadOutcome, LoadError> {
        let mut tell = |event: LoadEvent| {
            self.send(match event {
                LoadEvent::Connecting { open } => LoadMessage::Connecting(open),
                LoadEvent::Second(second) => LoadMessage::Second(second),
                LoadEvent::Draining { running } => LoadMessage::Draining(running),
            });
        };
        let planned = &self.trial.planned.load;
        let sending = StatementSettings {
            protocol: planned.protocol,
            stamp_replies: planned.reply_time == ReplyTime::Kernel,
        };
        let load = engine::Load {
            spec,
            workload,
            barrier: self.barrier,
            route: self.route,
            stop: self.stop,
            pulse: self.watch.map(|watch| &watch.pulse),
            tell: &mut tell,
        };
        self.database.drive(sending, load)
    }

    fn send(&self, message: LoadMessage) {
        // Without a receiver, the trial is over.
        let _ = self.sender.send(TrialMessage::Load(self.index, message));
    }
}

/// Turns a panic into an error, because the trial waits for every load to end.
fn catching_panics(
    run: impl FnOnce() -> Result<LoadOutcome, LoadError>,
) -> Result<LoadOutcome, LoadError> {
    let ended = catch_unwind(AssertUnwindSafe(run));
    ended.unwrap_or_else(|payload| Err(LoadError::panicked(&*payload)))
}

/// Raises the limit on open files as far as the trial requires: the default is often below the
/// maximum.
fn raise_file_limit(trial: &Trial) -> Result<(), Failure> {
    let planned = &trial.planned;
    let users = u64::from(planned.load.threads) * u64::from(planned.topology.instances);
    let needed = files::of_loads(trial) + files::OWN_FILES;
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    limit.current = limit.maximum;
    let raised = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
    match limit.maximum {
        Some(maximum) if maximum < needed || raised.is_err() => {
            let message = format!(
                "{users} virtual users need up to {needed} open files; the limit of this process is {maximum}"
            );
            let remedy = format!("raise the limit: ulimit -n {needed}");
            Err(Failure::usage(message).remedy(remedy))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use engine::data::{Listener, Mode};

    use super::*;
    use crate::setup::instance::Instance;
    use crate::testing::{Silent, run_of, trial};

    #[test]
    fn loads_end_when_their_observer_panics() {
        let dir = tempfile::tempdir().unwrap();
        let database = crate::testing::database(dir.path());
        let (trial, never) = (trial(), AtomicBool::new(false));
        let listener = Listener {
            tell: &mut |_| {},
            interrupted: &never,
        };
        let wanted = trial.wanted(Mode::Missing);
        database.prepare(&wanted, listener).unwrap();
        let rig = Rig {
            instances: vec![Instance::found(database, 1)],
            reset: None,
            reuse_key: None,
        };
        let mut observer = Silent {
            panics: true,
            ..Silent::default()
        };
        let begun = Instant::now();
        let driven = catch_unwind(AssertUnwindSafe(|| {
            drive(&trial, &rig, &[], &mut run_of(&mut observer, &never)).map(drop)
        }));
        let payload = driven.unwrap_err();
        let words = LoadError::panicked(&*payload).to_string();
        assert!(words.contains("no connections, please"), "{words}");
        // The trial's duration is an hour.
        assert!(begun.elapsed() < Duration::from_secs(60));
    }

    #[test]
    fn a_panic_of_a_load_becomes_its_error() {
        let ended = catching_panics(|| panic!("out of {}", "luck"));
        let words = ended.unwrap_err().to_string();
        assert_eq!(words, "a thread of the load panicked: out of luck");
    }
}
