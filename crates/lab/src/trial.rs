//! What one trial is, and its phases.

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

/// A planned trial, and what running it takes besides.
#[derive(Debug, Clone)]
pub struct Trial {
    /// What the plan says of it.
    pub planned: plan::Trial,
    /// What is driven.
    pub target: Target,
    /// What virtual users do.
    pub workload: WorkloadName,
    /// With which tables, rows and shares.
    pub options: Options,
    /// Seed of everything that the virtual users choose.
    pub load_seed: u64,
    /// For a step of a search: the wait for a free virtual user after which it is overloaded.
    pub longest_wait: Option<Duration>,
    /// How it is run.
    pub run_options: RunOptions,
}

/// How trials are run, besides what a plan says of them.
#[derive(Debug, Clone)]
pub struct RunOptions {
    /// How the data is prepared; `None`: it is used as it is.
    pub mode: Option<Mode>,
    /// Connections that load data side by side.
    pub load_connections: u32,
    /// Connections that are opened at once.
    pub connect_limit: u32,
    /// Worker threads for each server; `None`: as many as suit the host.
    pub workers: Option<u32>,
    /// Errors that do not stop the load: SQLSTATEs or the engine's own numbers.
    pub ignored_errors: Vec<String>,
    /// Whether the workers run under SCHED_BATCH.
    pub batch_scheduling: bool,
}

/// As `dyno run` runs them.
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
    /// A database that is there.
    Given(Database),
    /// Temporary databases of an engine in process.
    Temporary(InProcess),
    /// Servers that are started for it.
    Private(Box<EngineSpec>),
}

/// A trial that ran, and what ended it too early.
#[derive(Debug)]
pub struct FinishedTrial {
    /// What it gave.
    pub summary: TrialSummary,
    /// Why it did not come to its end.
    pub failure: Option<Failure>,
}

/// Runs one trial and keeps what it gave.
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
    // What was measured is told even where it could not be kept.
    Ok(FinishedTrial {
        failure: ran.failure.or(kept.err()),
        ..ran
    })
}

/// The way of a trial: sites, volumes, nodes, clusters, instances (`build.rs`); then loads,
/// monitors and events on one clock (`drive.rs`). Each is a scope: whatever fails below it, it takes
/// itself down, the last first.
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
    lab.take_down(rig);
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

/// The summary of a trial whose load never began.
pub(crate) fn failed(trial: &Trial, failure: &Failure) -> TrialSummary {
    measure::gather::Gather::new(&[]).finish(Input {
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
    /// Refuses options that make no sense, before anything is touched.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check(&self) -> Result<(), Failure> {
        self.workload
            .validate(&self.options)
            .map_err(|error| Failure::new(Cause::Usage, error))
    }

    /// The data that it needs.
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

    /// The longest time under load; of a search that of all its steps.
    #[must_use]
    pub fn load_time(&self) -> Duration {
        let load = &self.planned.load;
        let (warmup, time) = (load.warmup, load.longest().unwrap_or_default());
        match load.find_max {
            Some(_) => find_max::max_load_time(warmup, time),
            None => warmup + time,
        }
    }

    /// The labels of its statements, as they are stored.
    #[must_use]
    pub fn statement_kinds(&self) -> Vec<StatementKind> {
        let labels = self.workload.labels(&self.options);
        labels.iter().map(stored).collect()
    }

    /// What it is to be driven with, as far as that is known before its server is.
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

    /// What one database was driven with.
    pub(crate) fn setup_of(&self, database: &Database) -> Setup {
        Setup {
            engine: database.product(),
            server: database.shown(),
            ..self.planned_setup()
        }
    }

    /// The load of the server in this place, from 0.
    pub(crate) fn load(&self, place: usize, database: &Database) -> LoadSpec {
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
            seed: self.load_seed.wrapping_add(place as u64),
            ignored_errors: self.run_options.ignored_errors.clone(),
            batch_scheduling: self.run_options.batch_scheduling,
            connect_limit: self.run_options.connect_limit,
            grace: GRACE,
            stall_limit: load::STALL_LIMIT,
        }
    }

    /// Below which directory private servers have their data.
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

    /// Worker threads for one server: as many as the user named, else its share of the CPUs.
    pub(crate) fn workers(&self, database: &Database) -> u32 {
        // Calls into a database in process block.
        if database.is_in_process() {
            return self.planned.load.threads;
        }
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = || default_workers(cpus, self.planned.topology.instances);
        let workers = self.run_options.workers.unwrap_or_else(share);
        workers.min(self.planned.load.threads)
    }
}

/// One worker for each CPU that this process may use, shared by the servers that are driven at
/// the same time. Fewer leave CPUs idle where client and server share a host, and more cost
/// CPU for the same work (benches/RESULTS.md, "How many workers").
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
