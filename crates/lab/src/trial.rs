//! A trial and its phases.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::data::{Mode, Wanted};
use engine::{Engine, InProcess};
use load::LoadSpec;
use measure::setup::{Class, Input, Outcome, Setup, StatementKind, Unfinished};
use measure::summary::TrialSummary;
use plan::EngineSpec;
use workload::label;
use workload::name::WorkloadName;
use workload::options::Options;

use crate::Database;
use crate::drive;
use crate::failure::{Cause, Failure};
use crate::find_max;
use crate::lab::Lab;
use crate::observer::Observer;
use crate::preload::preload;
use crate::rig::Rig;
use crate::trial_monitor::LoadResults;

/// How long running transactions may take to end after the load's end.
const GRACE: Duration = Duration::from_secs(5);

/// A planned trial, with what the plan leaves open.
#[derive(Debug, Clone)]
pub struct Trial {
    /// The trial as planned.
    pub planned: plan::Trial,
    /// What is driven.
    pub target: Target,
    /// What the virtual users do.
    pub workload: WorkloadName,
    /// The workload's options.
    pub options: Options,
    /// Seed of all random choices of the virtual users.
    pub load_seed: u64,
    /// For a step of a search: a longer wait for a free virtual user counts as overload.
    pub longest_wait: Option<Duration>,
    /// Options of the run.
    pub run_options: RunOptions,
}

/// Options of running trials that are not part of a plan.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How the data is prepared; `None`: it is used unchanged.
    pub mode: Option<Mode>,
    /// Number of connections that load data in parallel.
    pub load_connections: u32,
    /// Maximum number of connections being opened at the same time.
    pub connect_limit: u32,
    /// Worker threads for each server; `None`: chosen by the number of CPUs.
    pub workers: Option<u32>,
    /// Errors that do not stop the load: SQLSTATEs or the engine's error numbers.
    pub ignored_errors: Vec<String>,
    /// Whether the workers run under SCHED_BATCH.
    pub batch_scheduling: bool,
}

/// The options of `dyno run`.
impl Default for RunOptions {
    fn default() -> Self {
        Self {
            mode: Some(Mode::Missing),
            load_connections: 2,
            connect_limit: 64,
            workers: None,
            ignored_errors: Vec::new(),
            batch_scheduling: true,
        }
    }
}

/// What a trial drives.
#[derive(Debug, Clone)]
pub enum Target {
    /// An existing database.
    Given(Database),
    /// Temporary databases of an in-process engine.
    Temporary(InProcess),
    /// Servers that dyno starts for the trial.
    Private(Box<EngineSpec>),
}

/// A trial that ran, and the failure that ended it early, if any.
#[derive(Debug)]
pub struct FinishedTrial {
    /// Its results.
    pub summary: TrialSummary,
    /// Why it ended early.
    pub failure: Option<Failure>,
}

/// Runs one trial and passes its summary to the observer.
///
/// # Errors
/// When the load did not begin.
pub fn run(
    lab: &mut Lab,
    trial: &Trial,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<FinishedTrial, Failure> {
    observer.begin(trial)?;
    let ran = phases(lab, trial, observer, interrupted)?;
    let kept = observer.end(ran.summary.clone());
    // What was measured is returned even if it could not be stored.
    Ok(FinishedTrial {
        failure: ran.failure.or(kept.err()),
        ..ran
    })
}

/// The phases of a trial: sites, volumes, nodes, clusters, instances (`build.rs`); then loads,
/// monitors and events on one clock (`drive.rs`). Each is a scope: whatever fails inside it, it is
/// taken down, in reverse order.
fn phases(
    lab: &mut Lab,
    trial: &Trial,
    observer: &mut dyn Observer,
    interrupted: &AtomicBool,
) -> Result<FinishedTrial, Failure> {
    let rig = lab.set_up(trial, observer, interrupted)?;
    let ran = preload(trial, &rig, observer, interrupted)
        .and_then(|()| drive::drive(trial, &rig, observer, interrupted))
        .map(|driven| summarize(trial, &rig, driven));
    lab.take_down(rig, observer);
    ran
}

fn summarize(trial: &Trial, rig: &Rig, driven: LoadResults) -> FinishedTrial {
    let mut summary = driven.gather.finish(Input {
        started_at: Some(driven.started_at),
        setup: trial.setup(rig),
        unfinished: driven.unfinished,
        instances: driven.instances,
        metrics: driven.metrics,
        reset: rig.reset.clone(),
        ended: driven.ended,
        outcome: driven.outcome,
    });
    summary.events = driven.events;
    FinishedTrial {
        summary,
        failure: driven.failure,
    }
}

/// The summary of a trial whose load did not start.
pub(crate) fn failed(trial: &Trial, failure: &Failure) -> TrialSummary {
    measure::summarize::Summarizer::new(&[]).finish(Input {
        started_at: None,
        setup: trial.planned_setup(),
        unfinished: Unfinished::default(),
        instances: Vec::new(),
        metrics: std::collections::BTreeMap::new(),
        reset: None,
        ended: None,
        outcome: Outcome::Failed {
            reason: failure.message.clone(),
        },
    })
}

impl Trial {
    /// Checks its options, before anything is changed.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), Failure> {
        self.workload
            .validate(&self.options)
            .map_err(|error| Failure::new(Cause::Usage, error))
    }

    /// The data that the trial needs.
    #[must_use]
    pub fn wanted(&self, mode: Mode) -> Wanted<'_> {
        Wanted {
            workload: self.workload,
            options: &self.options,
            seed: self.planned.data.seed,
            users: self.planned.load.threads,
            mode,
            connections: self.run_options.load_connections,
            stall_limit: load::STALL_LIMIT,
        }
    }

    /// Maximum time under load; for a search, that of all its steps.
    #[must_use]
    pub fn load_time(&self) -> Duration {
        let load = &self.planned.load;
        let (warmup, time) = (load.warmup, load.longest().unwrap_or_default());
        match load.find_max {
            Some(_) => find_max::max_load_time(warmup, time),
            None => warmup + time,
        }
    }

    /// The labels of its statements, as stored.
    #[must_use]
    pub fn statement_kinds(&self) -> Vec<StatementKind> {
        let labels = self.workload.labels(&self.options);
        labels.iter().map(stored).collect()
    }

    /// Its setup, as far as it is known before the server is.
    #[must_use]
    pub fn planned_setup(&self) -> Setup {
        Setup {
            tables: self
                .workload
                .tables(&self.options, self.planned.load.threads),
            directory: self.spec().and_then(|_| self.data_place()),
            in_process: self.is_in_process(),
            ..Setup::new(&self.planned)
        }
    }

    fn setup(&self, rig: &Rig) -> Setup {
        let Some(first) = rig.databases().next() else {
            return self.planned_setup();
        };
        Setup {
            server: rig.shown(),
            tls: first.tls(),
            workers: self.workers(first),
            ..self.setup_of(first)
        }
    }

    /// The setup of one database's load.
    pub(crate) fn setup_of(&self, database: &Database) -> Setup {
        Setup {
            engine: database.product(),
            server: database.shown(),
            ..self.planned_setup()
        }
    }

    /// The load of the instance with this index.
    pub(crate) fn load(&self, index: usize, database: &Database) -> LoadSpec {
        let load = &self.planned.load;
        LoadSpec {
            users: load.threads,
            workers: self.workers(database),
            warmup: load.warmup,
            time: load.longest(),
            events: load.events,
            pace: load.pace(),
            think: load.think(),
            // Users of different instances are different users.
            seed: self.load_seed.wrapping_add(index as u64),
            ignored_errors: self.run_options.ignored_errors.clone(),
            batch_scheduling: self.run_options.batch_scheduling,
            connect_limit: self.run_options.connect_limit,
            grace: GRACE,
            stall_limit: load::STALL_LIMIT,
        }
    }

    /// The directory below which private servers store their data.
    fn data_place(&self) -> Option<String> {
        let named = self.planned.topology.node.volume.directory();
        let place = named.map(|directory| directory.value.clone());
        let place = place.or_else(|| crate::home::place().ok());
        place.map(|place| place.display().to_string())
    }

    fn spec(&self) -> Option<&EngineSpec> {
        match &self.target {
            Target::Private(spec) => Some(spec),
            Target::Given(_) | Target::Temporary(_) => None,
        }
    }

    /// The engine of the databases.
    pub(crate) fn engine(&self) -> Option<&'static dyn Engine> {
        match &self.target {
            Target::Given(database) => Some(database.engine()),
            Target::Temporary(built_in) => Some(built_in.engine),
            Target::Private(spec) => engine::by_name(&spec.engine),
        }
    }

    /// Whether the databases run in this process.
    pub(crate) fn is_in_process(&self) -> bool {
        self.engine().and_then(Engine::in_process).is_some()
    }

    /// Worker threads for one server: the number that the user chose, or its share of the CPUs.
    pub(crate) fn workers(&self, database: &Database) -> u32 {
        // Calls into an in-process database block.
        if database.is_in_process() {
            return self.planned.load.threads;
        }
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = || default_workers(cpus, self.planned.topology.instances);
        let workers = self.run_options.workers.unwrap_or_else(share);
        workers.min(self.planned.load.threads)
    }
}

/// One worker for each CPU that this process may use, divided among the servers that are driven at
/// the same time. Fewer workers leave CPUs idle where client and server share a host; more cost CPU
/// time for the same work (benches/RESULTS.md, "How many workers").
fn default_workers(cpus: usize, instances: u32) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    cpus.div_ceil(instances.max(1)).max(1)
}

fn stored((name, class): (&str, label::Class)) -> StatementKind {
    StatementKind {
        name: name.to_owned(),
        class: match class {
            label::Class::Read => Class::Read,
            label::Class::Write => Class::Write,
            label::Class::Other => Class::Other,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_that_are_driven_at_once_share_the_cpus() {
        let workers = [(1, 1), (2, 1), (2, 8), (16, 1), (16, 3), (64, 4)];
        let workers = workers.map(|(cpus, instances)| default_workers(cpus, instances));
        assert_eq!(workers, [1, 2, 1, 16, 6, 16]);
    }
}
