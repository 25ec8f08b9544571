//! Drives all instances of a trial at once, each with a load of its own.

pub(crate) mod clock;
mod early_stop;
pub(crate) mod find_max;
pub(crate) mod flush;
pub(crate) mod merge;
pub(crate) mod referee;
pub(crate) mod start;
pub(crate) mod threads;
pub(crate) mod trial_loop;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::Scope;

use engine::data::{self, Command, Listener};
use load::{LoadError, LoadOutcome, LoadSpec, Stop};
use plan::ReplyTime;
use script::lua::LuaScript;

use crate::fleet::team::Team;
use crate::ledger::Ledger;
use crate::observe::monitors::{self, Monitors};
use crate::observe::probe::{self, Probers};
use crate::observe::watch::{self, Watch};
use crate::trial::OWN_FILES;
use crate::{
    Cluster, Database, Failure, FinishedTrial, Member, Progress, Rig, Run, Trial, faults, ledger,
};
use clock::Clock;
use start::Start;
use trial_loop::{TrialLoop, TrialMessage};

/// All loads start together.
pub(crate) fn drive(
    trial: &Trial,
    rig: &Rig,
    ledgers: &[Ledger<'_>],
    start: Option<&Start>,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    raise_file_limit(&[trial])?;
    if let Some(why) = trial.workload.blocks() {
        let note = format!("each virtual user has a thread, because the script blocks: {why}");
        run.observer.note(&note);
    }
    let mut tell = |why: &str| run.observer.note(&format!("waiting for agents: {why}"));
    let team = Team::of(trial, &mut tell, run.interrupted)?;
    let globals = trial.workload.globals(rig.instances.len())?;
    let outputs = faults::outputs(trial, run.observer)?;
    let prepared = probe::prepare(trial, rig, run);
    let driven = prepared
        .and_then(|()| call("init", &globals, rig, run))
        .and_then(|()| drive_with(&outputs, ledgers, team.as_ref(), trial, rig, start, run));
    if let Err(failure) = call("done", &globals, rig, run)
        && !failure.is_interrupted()
    {
        run.observer.note(&failure.message);
    }
    probe::clean_up(trial, rig);
    driven
}

/// Calls a function of a script, if it has that, for each instance.
fn call(name: &str, globals: &[LuaScript], rig: &Rig, run: &mut Run<'_>) -> Result<(), Failure> {
    let mut listener = Listener {
        tell: &mut |news| run.observer.progress(Progress::Preparing(&news)),
        interrupted: run.interrupted,
    };
    globals
        .iter()
        .zip(&rig.instances)
        .try_for_each(|(global, instance)| {
            let command = Command {
                script: global.of_command(name),
                users: 1,
                blocks: true,
            };
            let database = &*instance.cluster.primary().database;
            data::run(database, name, &command, &mut listener)
        })
}

/// `outputs` is the directory for the output of commands.
fn drive_with(
    outputs: &Path,
    ledgers: &[Ledger<'_>],
    team: Option<&Team<'_>>,
    trial: &Trial,
    rig: &Rig,
    start: Option<&Start>,
    run: &mut Run<'_>,
) -> Result<FinishedTrial, Failure> {
    let (sender, messages) = channel();
    let monitors = prepare_monitors(team, trial, rig, start, &sender, run);
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
            let driven = (database, team);
            spawn_load(scope, trial, index, driven, watch, start, sender.clone())?;
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
        let ledgers = ledger::spawn(scope, clock, ledgers)?;
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
        for message in messages.try_iter() {
            trial_loop.receive(message);
        }
        let sampled = sampler.map_or_else(Vec::new, threads::join);
        trial_loop.into_results(sampled, probes)
    })
}

/// Prepares the monitors before the load keeps the servers busy.
fn prepare_monitors(
    team: Option<&Team<'_>>,
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
    let referee = start.and_then(|start| start.referee.as_ref());
    let known = referee.map_or_else(Vec::new, |referee| referee.processes());
    let agents = team.map_or_else(Vec::new, Team::processes_here);
    let prepared = monitors::prepare(servers, known, agents, on_interval);
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

/// Starts the thread of an instance's load, which runs in this process unless it has agents.
fn spawn_load<'scope>(
    scope: &'scope Scope<'scope, '_>,
    trial: &'scope Trial,
    index: usize,
    (database, team): (&'scope Database, Option<&'scope Team<'scope>>),
    watch: &'scope Watch,
    start: &'scope Start,
    sender: Sender<TrialMessage>,
) -> Result<(), Failure> {
    let spec = LoadSpec {
        turn: start.turn.clone(),
        ..trial.load(index, database)
    };
    let dialect = database.engine().about().dialect;
    let workload = trial.workload.ready(&trial.options, dialect, &spec);
    let workload = workload.map_err(Failure::usage)?;
    let planned = &trial.planned.load;
    // Without a receiver, the trial is over.
    let send = move |message| drop(sender.send(message));
    let run = move || {
        let load = engine::Load {
            spec: &spec,
            workload: &workload,
            protocol: planned.protocol,
            stamp_replies: planned.reply_time == ReplyTime::Kernel,
            barrier: &start.barrier,
            route: &watch.route,
            stop: &start.stop,
            pulse: trial.has_faults().then_some(&watch.pulse),
            tell: &mut |event| send(TrialMessage::Load(index, event)),
        };
        let ended = catching_panics(|| match team {
            Some(team) => team.drive(index, database, load, &send),
            None => database.drive(load),
        });
        if ended.is_err() {
            // The other loads must not wait for this one.
            start.barrier.break_off();
        }
        send(TrialMessage::LoadEnded(index, ended));
    };
    threads::spawn(scope, format!("dyno-load-{}", index + 1), run).map(drop)
}

/// Turns a panic into an error, because the trial waits for every load to end.
pub(crate) fn catching_panics(
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
    allow_files(files.sum(), users)
}

/// Raises the limit on open files to its maximum if `users` need more than it allows.
pub(crate) fn allow_files(needed: u64, users: u64) -> Result<(), Failure> {
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    let Some(current) = limit.current.filter(|current| *current < needed) else {
        return Ok(());
    };
    limit.current = limit.maximum;
    let raised = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
    let what = match (limit.maximum, raised) {
        (Some(maximum), _) if maximum < needed => maximum.to_string(),
        (_, Err(error)) => format!("{current}, which cannot be raised: {error}"),
        _ => return Ok(()),
    };
    let message = format!(
        "{users} virtual users need up to {needed} open files; the limit of this process is {what}"
    );
    let remedy = format!("raise the limit: ulimit -n {needed}");
    Err(Failure::usage(message).remedy(remedy))
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use engine::data::Mode;

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
