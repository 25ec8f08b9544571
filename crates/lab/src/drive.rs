//! Drives all instances of a trial at once, each with a load of its own.

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
use crate::clock::Clock;
use crate::failure::Failure;
use crate::faults;
use crate::files;
use crate::follow::{self, Follower};
use crate::ledger::{self, Ledger};
use crate::observer::Observer;
use crate::rig::Rig;
use crate::threads;
use crate::trial::Trial;
use crate::trial_monitor::{LoadMessage, LoadResults, Monitoring, TrialMessage, TrialMonitor};
use crate::watch::{self, Watch};

/// All loads start together.
pub(crate) fn drive(
    trial: &Trial,
    rig: &Rig,
    ledgers: &[Ledger<'_>],
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<LoadResults, Failure> {
    raise_file_limit(trial)?;
    let outputs = faults::outputs(trial, observer)?;
    let prepared = follow::prepare(rig, interrupted);
    let driven = prepared.and_then(|()| {
        let watches = watch::open(trial, rig, observer);
        let beside = Beside {
            ledgers,
            watches: &watches,
            outputs: &outputs,
        };
        drive_with(beside, trial, rig, observer, interrupted)
    });
    follow::clean_up(trial, rig);
    driven
}

/// What runs beside the loads.
#[derive(Clone, Copy)]
struct Beside<'a> {
    ledgers: &'a [Ledger<'a>],
    watches: &'a [Watch],
    /// Directory for the output of commands.
    outputs: &'a Path,
}

fn drive_with(
    beside: Beside<'_>,
    trial: &Trial,
    rig: &Rig,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<LoadResults, Failure> {
    let (sender, messages) = channel();
    let monitoring = Monitoring::prepare(trial, rig, &sender, observer);
    let barrier = Barrier::new(trial.planned.topology.instances);
    let (stop, over) = (Stop::default(), AtomicBool::new(false));
    let clock = Clock {
        barrier: &barrier,
        over: &over,
    };
    let watches = beside.watches;
    let follow = trial.planned.topology.follow;
    let routes = rig.instances.iter();
    let routes: Vec<_> = routes.map(|one| Arc::new(one.route(follow))).collect();
    std::thread::scope(|scope| {
        let end = EndTrial(&stop, &over);
        let mut threads = Vec::new();
        for (instance, route) in rig.instances.iter().zip(&routes) {
            if let Some(group) = instance.as_group() {
                let follower = Follower {
                    group,
                    follow,
                    route: Arc::clone(route),
                    clock,
                    sender: sender.clone(),
                };
                threads.extend(follower.spawn(scope)?);
            }
        }
        for (index, (instance, route)) in rig.instances.iter().zip(&routes).enumerate() {
            let load = Load {
                trial,
                index,
                database: &instance.endpoint.database,
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
            outputs: beside.outputs,
            watches,
            clock,
            interrupted,
        };
        threads.extend(faults::spawn(scope, schedule, &sender)?);
        let schedule = ledger::Schedule { trial, clock };
        threads.extend(ledger::spawn(scope, schedule, beside.ledgers)?);
        let watchers = watch::spawn(scope, watches, rig, clock)?;
        let mut monitor = TrialMonitor::new(trial, rig, &barrier, &stop, monitoring, observer);
        monitor.run(&messages, interrupted);
        drop(end);
        threads.into_iter().for_each(threads::join);
        monitor.receive_rest(&messages);
        let mut results = monitor.into_results()?;
        if let Some(watchers) = watchers {
            watchers.conclude(trial, rig, &mut results, observer);
        }
        Ok(results)
    })
}

/// On drop, ends loads and faults however the trial's monitor returned: the scope waits for their
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
    use crate::instance::Instance;
    use crate::testing::{Silent, trial};

    #[test]
    fn loads_end_when_their_monitor_panics() {
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
            instances: vec![Instance::of(database)],
            reset: None,
            made_for: None,
        };
        let mut observer = Silent {
            panics: true,
            ..Silent::default()
        };
        let begun = Instant::now();
        let driven = catch_unwind(AssertUnwindSafe(|| {
            drive(&trial, &rig, &[], &mut observer, &never).map(drop)
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
