//! What one trial is, and its phases.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use client::StatementProtocol;
use engine::data::{Mode, Wanted};
use engine::{Engine, InProcess};
use load::{Arrivals, LoadSpec, Pace};
use measure::setup::{
    CLOSED_LOOP, Class, Input, Outcome, Protocol, ReplyTime, Setup, StatementKind, Unfinished,
};
use measure::summary::TrialSummary;
use plan::{EngineSpec, FindMax, Topology};
use workload::label;
use workload::name::WorkloadName;
use workload::options::Options;

use crate::Database;
use crate::drive;
use crate::early::EarlyEnd;
use crate::failure::{Cause, Failure};
use crate::find_max;
use crate::lab::Lab;
use crate::observer::Observer;
use crate::preload::preload;
use crate::rig::Rig;
use crate::trial_monitor::Driven;

/// Everything that one trial needs to know.
#[derive(Debug, Clone)]
pub struct Trial {
    /// Its place in the plan, from 1.
    pub number: u32,
    /// Short name, for example `threads=16`.
    pub label: String,
    /// The variant and the swept keys, with this trial's values.
    pub point: Vec<(String, String)>,
    /// How often this point has been in the study, this time included.
    pub repeat: u32,
    /// What is driven.
    pub place: Place,
    /// What it runs on, and what happens to that under load.
    pub topology: Topology,
    /// What virtual users do.
    pub workload: WorkloadName,
    /// With which tables, rows and shares.
    pub options: Options,
    /// Seed of the rows and of every random choice.
    pub seed: u64,
    /// How statements are sent.
    pub protocol: StatementProtocol,
    /// What tells when a reply was there, where the connection lets the kernel do so.
    pub reply_time: ReplyTime,
    /// What is done to have the data.
    pub mode: Option<Mode>,
    /// Connections that load data side by side.
    pub load_connections: u32,
    /// Whether every table and index is read once before the load.
    pub preload: bool,
    /// Whether host and servers are watched.
    pub monitors: bool,
    /// When it may end before its time.
    pub early: Option<EarlyEnd>,
    /// The search that takes its place.
    pub find_max: Option<FindMax>,
    /// The load of each server; its `workers` are set when the engine is known.
    pub load: LoadSpec,
    /// Worker threads for each server, if the user named a number.
    pub workers: Option<u32>,
}

/// What a trial drives.
#[derive(Debug, Clone)]
pub enum Place {
    /// A database that is there.
    Given(Database),
    /// Temporary databases of an engine in process.
    Temporary(InProcess),
    /// Servers that are started for it.
    Private(Box<EngineSpec>),
}

/// A trial that ran, and what ended it too early.
#[derive(Debug)]
pub struct Ran {
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
) -> Result<Ran, Failure> {
    observer.begin(trial)?;
    let ran = phases(lab, trial, observer, interrupted)?;
    let kept = observer.end(ran.summary.clone());
    // What was measured is told even where it could not be kept.
    Ok(Ran {
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
) -> Result<Ran, Failure> {
    let rig = lab.set_up(trial, observer, interrupted)?;
    let ran = preload(trial, &rig, observer, interrupted)
        .and_then(|()| drive::drive(trial, &rig, observer, interrupted))
        .map(|driven| summarize(trial, &rig, driven));
    lab.take_down(rig);
    ran
}

fn summarize(trial: &Trial, rig: &Rig, driven: Driven) -> Ran {
    let mut summary = driven.gather.finish(Input {
        number: trial.number,
        repeat: trial.repeat,
        started_at: Some(driven.started_at),
        label: trial.label.clone(),
        point: trial.point.clone(),
        setup: trial.setup(rig),
        unfinished: driven.unfinished,
        instances: driven.instances,
        metrics: driven.metrics,
        reset: rig.reset.clone(),
        ended: driven.ended,
        outcome: driven.outcome,
    });
    summary.events = driven.events;
    Ran {
        summary,
        failure: driven.failure,
    }
}

/// The summary of a trial whose load never began.
pub(crate) fn failed(trial: &Trial, failure: &Failure) -> TrialSummary {
    measure::gather::Gather::new(&[]).finish(Input {
        number: trial.number,
        repeat: trial.repeat,
        started_at: None,
        label: trial.label.clone(),
        point: trial.point.clone(),
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
            seed: self.seed,
            users: self.load.users,
            mode,
            connections: self.load_connections,
            stall_limit: self.load.stall_limit,
        }
    }

    /// The longest time under load; of a search that of all its steps.
    #[must_use]
    pub fn load_time(&self) -> Duration {
        let (warmup, time) = (self.load.warmup, self.load.time.unwrap_or_default());
        match self.find_max {
            Some(_) => find_max::longest(warmup, time),
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
        self.setup_of("", "", None, 0)
    }

    fn setup(&self, rig: &Rig) -> Setup {
        let Some(first) = rig.databases().next() else {
            return self.planned_setup();
        };
        let workers = self.workers(first);
        self.setup_of(&first.product(), &rig.shown(), first.tls(), workers)
    }

    pub(crate) fn setup_of(
        &self,
        engine: &str,
        server: &str,
        tls: Option<String>,
        workers: u32,
    ) -> Setup {
        Setup {
            workload: self.workload.to_string(),
            options: options_text(&self.options),
            engine: engine.to_owned(),
            server: server.to_owned(),
            tls,
            instances: self.topology.instances,
            threads: self.load.users,
            workers,
            tables: self.workload.tables(&self.options, self.load.users),
            rows: self.options.rows,
            key_range: self.options.highest_key(),
            distribution: self.options.distribution.to_string(),
            seed: self.seed,
            protocol: match self.protocol {
                StatementProtocol::Prepared => Protocol::Prepared,
                StatementProtocol::Text => Protocol::Text,
            },
            reply_time: self.reply_time,
            arrivals: match self.load.pace {
                Pace::Closed => CLOSED_LOOP.to_owned(),
                Pace::Open { per_s, arrivals } => match arrivals {
                    Arrivals::Poisson => format!("{per_s}/s poisson"),
                    Arrivals::Constant => format!("{per_s}/s constant"),
                },
            },
            think_s: self.load.think.as_secs_f64(),
            preload: self.preload,
            warmup_s: self.load.warmup.as_secs_f64(),
            time_s: self.load.time.map(|time| time.as_secs_f64()),
            events: self.load.events,
            until: match self.early {
                Some(EarlyEnd::Sure(until)) => Some(until),
                Some(EarlyEnd::Overloaded { .. }) | None => None,
            },
            cpus: self.topology.node.site.cpus().map(|cpus| cpus.value),
            directory: self.spec().and_then(|_| self.data_place()),
            in_process: self.is_in_process(),
        }
    }

    /// Below which directory private servers have their data.
    fn data_place(&self) -> Option<String> {
        let named = self.topology.node.volume.directory();
        let place = named.map(|directory| directory.value.clone());
        let place = place.or_else(|| crate::home::place().ok());
        place.map(|place| place.display().to_string())
    }

    fn spec(&self) -> Option<&EngineSpec> {
        match &self.place {
            Place::Private(spec) => Some(spec),
            Place::Given(_) | Place::Temporary(_) => None,
        }
    }

    /// The engine of the databases.
    pub(crate) fn engine(&self) -> Option<&'static dyn Engine> {
        match &self.place {
            Place::Given(database) => Some(database.engine()),
            Place::Temporary(built_in) => Some(built_in.engine),
            Place::Private(spec) => engine::by_name(&spec.engine),
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
            return self.load.users;
        }
        let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        let share = || default_workers(cpus, self.topology.instances);
        self.workers.unwrap_or_else(share).min(self.load.users)
    }
}

/// One worker for each CPU that this process may use, shared by the servers that are driven at
/// the same time. Fewer leave CPUs idle where client and server share a host, and more cost
/// CPU for the same work (benches/RESULTS.md, "How many workers").
fn default_workers(cpus: usize, instances: u32) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    cpus.div_ceil(instances.max(1)).max(1)
}

/// What transactions and tables have that is not the default.
fn options_text(options: &Options) -> String {
    let changed = options.changed().into_iter();
    let pairs: Vec<String> = changed
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    pairs.join(", ")
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
