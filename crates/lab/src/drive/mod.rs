//! Drives all instances of a trial at once, each with a load of its own.

pub(crate) mod clock;
mod early_stop;
pub(crate) mod find_max;
pub(crate) mod flush;
mod merge;
pub(crate) mod message;
pub(crate) mod referee;
pub(crate) mod start;
pub(crate) mod threads;
mod trial_loop;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;

use load::{LoadError, LoadOutcome, LoadSpec, Stop};
use plan::ReplyTime;
use workload::built_in::BuiltIn;

use crate::ledger::Ledger;
use crate::observe::monitors::{self, Monitors};
use crate::observe::probe::{self, Probers};
use crate::observe::watch::{self, Watch};
use crate::trial::OWN_FILES;
use crate::{Cluster, Database, Failure, FinishedTrial, Member, Rig, Run, Trial, faults, ledger};
use clock::Clock;
use message::TrialMessage;
use start::Start;
use trial_loop::TrialLoop;

/// All loads start together.
pub(crate) fn drive(
    trial: &Trial,
    rig: &Rig,
    ledgers: &[Ledger<'_>],
    start: Option<&Start>,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    raise_file_limit(&[trial])?;
    let outputs = faults::outputs(trial, run.observer)?;
    let prepared = probe::prepare(trial, rig, run);
    let driven = prepared.and_then(|()| drive_with(&outputs, ledgers, trial, rig, start, run));
    probe::clean_up(trial, rig);
    driven
}

/// `outputs` is the directory for the output of commands.
fn drive_with(
    outputs: &Path,
    ledgers: &[Ledger<'_>],
    trial: &Trial,
    rig: &Rig,
    start: Option<&Start>,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    let (sender, messages) = channel();
    let monitors = prepare_monitors(trial, rig, start, &sender, run);
    // The clock of a trial that runs alone starts here.
    let alone;
    let start = match start {
        Some(start) => start,
        None => {
            alone = Start::of(trial);
            &alone
        }
    };
    let over = AtomicBool::new(false);
    let clock = Clock {
        barrier: &start.barrier,
        over: &over,
    };
    let clusters = || rig.instances.iter().map(|instance| &instance.cluster);
    let watch = |cluster: &Cluster| Watch::new(cluster.route(trial.planned.topology.follow));
    let watches: Vec<Watch> = clusters().map(watch).collect();
    let probers = clusters().zip(&watches);
    let probers =
        probers.map(|(cluster, watch)| Probers::new(trial, cluster, watch, clock, sender.clone()));
    let probers: Vec<Probers> = probers.collect();
    std::thread::scope(|scope| {
        let mut end = EndTrial {
            loads: Some(&start.stop),
            over: &over,
        };
        let probes = probers.iter().map(|probers| probers.spawn(scope));
        let probes: Vec<_> = probes.collect::<Result<_, Failure>>()?;
        for (index, (database, watch)) in rig.databases().zip(&watches).enumerate() {
            let load = Load {
                trial,
                index,
                database,
                watch,
                start,
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
            sender: &sender,
            interrupted: run.interrupted,
        };
        let faults = faults::spawn(scope, schedule)?;
        let schedule = ledger::Schedule { trial, clock };
        let ledgers = ledger::spawn(scope, schedule, ledgers)?;
        let sampler = watch::spawn(scope, trial, &watches, clock)?;
        let mut trial_loop = TrialLoop::new(trial, rig, start, monitors, run.observer);
        trial_loop.run(&messages, run.interrupted);
        // Those of other trials may go on.
        end.loads = None;
        drop(end);
        let probes = probes.into_iter();
        let probes = probes.map(|of_instance| of_instance.into_iter().flat_map(threads::join));
        let probes = probes.map(Iterator::collect).collect();
        faults.into_iter().chain(ledgers).for_each(threads::join);
        trial_loop.receive_rest(&messages);
        let (mut ran, loads) = trial_loop.into_results()?;
        if let Some(sampler) = sampler {
            let sampled = threads::join(sampler);
            let faults = &mut ran.summary.faults;
            watch::conclude(trial, rig, sampled, probes, loads, faults, run.observer);
        }
        Ok(ran)
    })
}

/// Prepares the monitors before the load keeps the servers busy.
fn prepare_monitors(
    trial: &Trial,
    rig: &Rig,
    start: Option<&Start>,
    sender: &Sender<TrialMessage>,
    run: &mut Run<'_>,
) -> Option<Monitors> {
    if !trial.planned.monitors {
        return None;
    }
    let sender = sender.clone();
    // The trial may end before the monitors.
    let on_interval = Box::new(move |point| drop(sender.send(TrialMessage::Monitored(point))));
    let servers = rig.members().map(Member::monitored).collect();
    let known = start.map_or_else(Vec::new, |start| start.servers.to_vec());
    let prepared = monitors::prepare(servers, known, on_interval);
    let noted = prepared.inspect_err(|error| {
        let note = format!("cannot monitor host and servers: {error}");
        run.observer.note(&note);
    });
    noted.ok()
}

/// On drop, ends loads and faults however the trial's loop returned: the scope waits for their
/// threads.
struct EndTrial<'a> {
    /// `None` once all have ended.
    loads: Option<&'a Stop>,
    over: &'a AtomicBool,
}

impl Drop for EndTrial<'_> {
    fn drop(&mut self) {
        self.loads.into_iter().for_each(Stop::interrupt);
        self.over.store(true, Ordering::Relaxed);
    }
}

/// An instance's load whose thread has not started.
struct Load<'a> {
    trial: &'a Trial,
    index: usize,
    database: &'a Database,
    watch: &'a Watch,
    start: &'a Start,
    sender: Sender<TrialMessage>,
}

impl<'a> Load<'a> {
    fn spawn<'scope>(self, scope: &'scope Scope<'scope, '_>) -> Result<(), Failure>
    where
        'a: 'scope,
    {
        let trial = self.trial;
        let spec = LoadSpec {
            turn: self.start.turn.clone(),
            ..trial.load(self.index, self.database)
        };
        let workload = BuiltIn::new(
            trial.workload,
            &trial.options,
            self.database.engine().about().dialect,
            spec.seed,
            spec.users,
        )
        .map_err(Failure::usage)?;
        let name = format!("dyno-load-{}", self.index + 1);
        let run = move || {
            let ended = catching_panics(|| self.run(&spec, &workload));
            self.send(TrialMessage::LoadEnded(self.index, ended));
        };
        threads::spawn(scope, name, run).map(drop)
    }

    fn run(&self, spec: &LoadSpec, workload: &BuiltIn) -> Result<LoadOutcome, LoadError> {
        let mut tell = |event| self.send(TrialMessage::Load(self.index, event));
        let planned = &self.trial.planned.load;
        let load = engine::Load {
            spec,
            workload,
            protocol: planned.protocol,
            stamp_replies: planned.reply_time == ReplyTime::Kernel,
            barrier: &self.start.barrier,
            route: &self.watch.route,
            stop: &self.start.stop,
            pulse: self.trial.has_faults().then_some(&self.watch.pulse),
            tell: &mut tell,
        };
        self.database.drive(load)
    }

    fn send(&self, message: TrialMessage) {
        // Without a receiver, the trial is over.
        let _ = self.sender.send(message);
    }
}

/// Turns a panic into an error, because the trial waits for every load to end.
fn catching_panics(
    run: impl FnOnce() -> Result<LoadOutcome, LoadError>,
) -> Result<LoadOutcome, LoadError> {
    let ended = catch_unwind(AssertUnwindSafe(run));
    ended.unwrap_or_else(|payload| Err(LoadError::panicked(&*payload)))
}

/// Raises the limit on open files as far as trials that run at once require: the default is often
/// below the maximum.
pub(crate) fn raise_file_limit(trials: &[&Trial]) -> Result<(), Failure> {
    let users: u64 = trials.iter().map(|trial| trial.planned.users()).sum();
    let files = trials.iter().map(|trial| trial.load_files() + OWN_FILES);
    let needed: u64 = files.sum();
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
    use crate::Instance;
    use crate::for_tests::{Silent, run_of, trial};

    #[test]
    fn loads_end_when_their_observer_panics() {
        let dir = tempfile::tempdir().unwrap();
        let database = crate::for_tests::database(dir.path());
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
            drive(&trial, &rig, &[], None, &mut run_of(&mut observer, &never)).map(drop)
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
