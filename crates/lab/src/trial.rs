//! A trial and its phases.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use engine::data::{Mode, Wanted};
use engine::{Engine, InProcess};
use fleet::Fleet;
use load::LoadSpec;
use measure::setup::{Setup, StatementKind};
use measure::summary::TrialSummary;
use plan::{EngineSpec, Follow, StatementClass};
use serde::{Deserialize, Serialize};
use workload::ledger::APPENDERS;
use workload::options::Options;

use crate::drive::find_max::MAX_SEARCH_TRIALS;
use crate::drive::start::counted;
use crate::{Database, Failure, Workload};

/// Maximum number of files that dyno has open besides those of the loads.
pub(crate) const OWN_FILES: u64 = 320;
/// Files of an event loop: two for the kernel's event queue, two timers, and one to wake it.
const WORKER: u64 = 5;
/// Files of an in-process database: the database, its log or journal, shared memory, a temporary
/// file.
const IN_PROCESS_CONNECTION: u64 = 4;

/// A planned trial, with what the plan leaves open.
#[derive(Debug, Clone)]
pub struct Trial {
    pub planned: plan::Trial,
    pub target: Target,
    pub workload: Workload,
    /// Options of the workload.
    pub options: Options,
    /// Seed of all random choices of virtual users.
    pub load_seed: u64,
    /// For a step of a search: a longer wait for a free virtual user counts as overload.
    pub longest_wait: Option<Duration>,
    pub run_options: RunOptions,
    /// What reaches the agents that its load comes from, if it comes from some.
    pub fleet: Option<Arc<Fleet>>,
}

/// Options of running trials that are not part of a plan.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct RunOptions {
    /// How the data is prepared; `None` uses it unchanged.
    #[serde(skip)]
    pub mode: Option<Mode>,
    /// Number of connections that load data in parallel.
    pub load_connections: u32,
    /// Maximum number of connections being opened at the same time. Each worker may always open
    /// one.
    pub connect_limit: u32,
    /// Worker threads for each server; `None` if they depend on the number of CPUs.
    pub workers: Option<u32>,
    /// Errors that do not stop the load: SQLSTATEs or the engine's error numbers.
    pub ignored_errors: Vec<String>,
    /// Whether the workers run under SCHED_BATCH.
    pub batch_scheduling: bool,
}

/// The defaults of `dyno run`.
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

impl Target {
    /// `None` for one that dyno does not know.
    pub fn engine(&self) -> Option<&'static dyn Engine> {
        match self {
            Self::Given(database) => Some(database.engine()),
            Self::Temporary(built_in) => Some(built_in.engine),
            Self::Private(spec) => engine::by_name(&spec.engine),
        }
    }
}

/// A trial that ran, perhaps not to its end.
#[derive(Debug)]
pub struct FinishedTrial {
    pub summary: TrialSummary,
    /// Why the trial ended early; `None` if it did not.
    pub failure: Option<Failure>,
}

impl Trial {
    /// Checks the trial's options before anything is changed.
    pub fn check(&self) -> Result<(), Failure> {
        self.workload
            .validate(&self.options)
            .map_err(Failure::usage)?;
        self.check_follow()
    }

    /// If users may use any member, they must not write in a cluster where only the primary accepts
    /// writes.
    fn check_follow(&self) -> Result<(), Failure> {
        let topology = &self.planned.topology;
        let cluster = topology.cluster.as_ref();
        let cluster = cluster.filter(|one| one.members > 1 && topology.follow == Follow::Any);
        let kind = cluster.and_then(|one| self.engine()?.server()?.replicates_as(&one.kind));
        let has_one_primary = kind.is_some_and(|kind| !kind.has_many_primaries());
        let kinds = self.statement_kinds();
        let mut all = kinds.iter();
        let write = all.find(|kind| kind.class == StatementClass::Write);
        let (Some(cluster), true, Some(write)) = (cluster, has_one_primary, write) else {
            return Ok(());
        };
        let message = format!(
            "with `follow` = \"any\", users of every member write ({}), but only the primary of a `{}` \
             cluster accepts writes",
            write.name, cluster.kind.value
        );
        let remedy =
            "use a workload that only reads, such as oltp_read_only, or follow = \"primary\"";
        let failure = Failure::usage(message).span(cluster.kind.span);
        Err(failure.remedy(remedy))
    }

    pub(crate) fn has_faults(&self) -> bool {
        !self.planned.topology.faults.is_empty()
    }

    pub fn wanted(&self, mode: Mode) -> Wanted<'_> {
        Wanted {
            workload: self.workload.first(),
            script: self.workload.data(),
            options: &self.options,
            seed: self.planned.data.seed,
            users: self.planned.load.threads,
            mode,
            connections: self.run_options.load_connections,
            stall_limit: load::STALL_LIMIT,
        }
    }

    /// Maximum time under load, for a search of all its steps together.
    pub fn load_time(&self) -> Duration {
        let load = &self.planned.load;
        let time = load.longest().unwrap_or_default();
        let time = load.warmup.saturating_add(time);
        match load.find_max {
            Some(_) => time.saturating_mul(MAX_SEARCH_TRIALS),
            None => time.mul_f64(self.stretch()),
        }
    }

    /// The length of its load as a multiple of the counted time; 1 without turns.
    pub fn stretch(&self) -> f64 {
        let turns = self.planned.turns();
        turns.map_or(1.0, |turns| {
            turns.block.div_duration_f64(counted(turns.block))
        })
    }

    /// Number of pairs of turns in a start, two per round; 0 without turns.
    pub fn pairs(&self) -> u32 {
        let (turns, time) = (self.planned.turns(), self.planned.load.time);
        turns.map_or(0, |turns| {
            2 * load::rounds(time, counted(turns.block)) as u32
        })
    }

    /// Labels of the workload's statements, as stored.
    pub fn statement_kinds(&self) -> Vec<StatementKind> {
        let labels = self.workload.labels(&self.options);
        let kinds = labels.iter().map(|(name, class)| StatementKind {
            name: name.to_owned(),
            class,
        });
        kinds.collect()
    }

    /// Whether its transactions write.
    pub(crate) fn writes(&self) -> bool {
        let labels = self.workload.labels(&self.options);
        let mut classes = labels.iter().map(|(_, class)| class);
        classes.any(|class| class == StatementClass::Write)
    }

    /// The trial's setup, as far as it is known before the server is.
    pub fn planned_setup(&self) -> Setup {
        Setup {
            tables: self
                .workload
                .tables(&self.options, self.planned.load.threads),
            directory: match self.target {
                Target::Private(_) => self.data_directory().map(|path| path.display().to_string()),
                Target::Given(_) | Target::Temporary(_) => None,
            },
            in_process: self.is_in_process(),
            ..Setup::new(&self.planned)
        }
    }

    pub(crate) fn setup_of(&self, database: &Database) -> Setup {
        Setup {
            engine: database.product(),
            server: database.shown(),
            ..self.planned_setup()
        }
    }

    pub(crate) fn load(&self, index: usize, database: &Database) -> LoadSpec {
        let load = &self.planned.load;
        LoadSpec {
            workers: self.workers(database),
            warmup: load.warmup,
            time: load.longest(),
            events: load.events,
            pace: load.pace(),
            phases: load.phases(),
            think: load.think(),
            // Users of different instances must differ.
            seed: self.load_seed.wrapping_add(index as u64),
            ignored_errors: self.ignored_errors(),
            batch_scheduling: self.run_options.batch_scheduling,
            connect_limit: self.run_options.connect_limit,
            stall_limit: load::STALL_LIMIT,
            ..LoadSpec::endless(load.threads, false)
        }
    }

    /// Errors that do not stop the load. Faults of a study may cause any error; those are counted.
    fn ignored_errors(&self) -> Vec<String> {
        match self.has_faults() {
            false => self.run_options.ignored_errors.clone(),
            true => vec![load::ANY_ERROR.to_owned()],
        }
    }

    /// Maximum number of files that the loads have open over the trial.
    pub(crate) fn load_files(&self) -> u64 {
        // Agents have the connections of their users.
        let load = match self.planned.load.fleet {
            Some(_) => 0,
            None => self.files_of(u64::from(self.planned.load.threads)),
        };
        // Each connection of the ledger has an event loop.
        let cluster = self.planned.topology.cluster.as_ref();
        let readers = cluster.map_or(1, |cluster| cluster.members);
        let ledger = self.planned.ledger.as_ref();
        let ledger = ledger.map_or(0, |ledger| {
            u64::from(ledger.users() + APPENDERS + readers) * (WORKER + 1)
        });
        (load + ledger).saturating_mul(u64::from(self.planned.topology.instances.max(1)))
    }

    /// Maximum number of files that so many users of a load have open.
    pub(crate) fn files_of(&self, users: u64) -> u64 {
        if self.is_in_process() {
            // Each user has a worker of its own.
            users.saturating_mul(WORKER + IN_PROCESS_CONNECTION)
        } else if self.workload.blocks().is_some() {
            users.saturating_mul(WORKER + 1)
        } else {
            // A user keeps a lost connection until it has a new one. Without a chosen number of
            // workers, they are few enough to count as dyno's own.
            let workers = u64::from(self.run_options.workers.unwrap_or(0));
            users + u64::from(self.run_options.connect_limit) + workers * WORKER
        }
    }

    /// Whether its servers run on other hosts.
    pub fn is_elsewhere(&self) -> bool {
        self.planned.topology.node.site.hosts.is_some()
    }

    /// The directory of the data that the trial loads, on the host of its servers.
    pub(crate) fn data_directory(&self) -> Option<PathBuf> {
        let named = match &self.target {
            Target::Given(database) => return database.file().map(ToOwned::to_owned),
            Target::Temporary(_) => None,
            Target::Private(_) => self.planned.topology.node.volume.directory.as_ref(),
        };
        let named = named.map(|directory| directory.value.clone());
        let hosts = self.planned.topology.node.site.hosts.as_ref();
        let there = || Some(hosts?.directory.clone());
        named.or_else(there).or_else(|| crate::home::place().ok())
    }

    /// Maximum number of simultaneous connections to a server.
    pub(crate) fn connections(&self) -> u32 {
        let ledger = self.planned.ledger.as_ref();
        // Another one reads each member.
        let ledger = ledger.map_or(0, |ledger| ledger.users() + APPENDERS + 1);
        self.planned.load.threads.saturating_add(ledger)
    }

    pub(crate) fn engine(&self) -> Option<&'static dyn Engine> {
        self.target.engine()
    }

    pub(crate) fn is_in_process(&self) -> bool {
        self.engine().and_then(Engine::in_process).is_some()
    }

    /// Worker threads for one server: the number that the user chose, or the server's share of the
    /// CPUs.
    pub(crate) fn workers(&self, database: &Database) -> u32 {
        // Calls into an in-process database block, and so do some scripts.
        if database.is_in_process() || self.workload.blocks().is_some() {
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
pub(crate) fn default_workers(cpus: usize, instances: u32) -> u32 {
    let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
    cpus.div_ceil(instances.max(1)).max(1)
}

#[cfg(test)]
mod tests {
    use plan::{Alternate, Compare};

    use super::*;

    #[test]
    fn a_start_has_whole_rounds_of_two_pairs() {
        let mut trial = crate::for_tests::trial();
        assert_eq!(trial.pairs(), 0);
        trial.planned.compare = Some(Compare {
            starts: 2,
            budget: Duration::from_secs(60),
            alternate: Alternate::Always,
            block: Duration::from_secs(1),
            pause: false,
        });
        // The first 0.1 s of each turn is the lead-in.
        for (time_s, pairs) in [(36, 40), (37, 42), (40, 46)] {
            trial.planned.load.time = Duration::from_secs(time_s);
            assert_eq!(trial.pairs(), pairs, "{time_s}");
        }
    }

    #[test]
    fn servers_that_are_driven_at_once_share_the_cpus() {
        let workers = [(1, 1), (2, 1), (2, 8), (16, 1), (16, 3), (64, 4)];
        let workers = workers.map(|(cpus, instances)| default_workers(cpus, instances));
        assert_eq!(workers, [1, 2, 1, 16, 6, 16]);
    }
}
