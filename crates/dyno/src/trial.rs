//! One trial: the data, then the load, then its summary.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use client::mysql::{Connector, StatementProtocol};
use client::sqlite::SqliteConnector;
use data::{Listener, Mode, PrepareError, Prepared, Wanted};
use load::{Arrivals, End, Event, LoadError, LoadOutcome, LoadSpec, Pace};
use measure::gather::Gather;
use measure::setup::{Class, Input, Outcome, Protocol, Setup, StatementKind};
use measure::summary::TrialSummary;
use store::TrialWriter;
use workload::catalog::Catalog;
use workload::name::WorkloadName;
use workload::options::Options;
use workload::user::Shared;

use crate::failure::{Exit, Failure};
use crate::progress::Progress;
use crate::server::{Server, mysql_failure};

/// Everything that one trial needs to know.
#[derive(Debug, Clone)]
pub(crate) struct Trial {
    pub(crate) label: String,
    pub(crate) point: Vec<(String, String)>,
    pub(crate) workload: WorkloadName,
    pub(crate) options: Options,
    pub(crate) seed: u64,
    pub(crate) protocol: StatementProtocol,
    pub(crate) load: LoadSpec,
    pub(crate) load_connections: u32,
}

/// A trial that ran, and what ended it too early.
pub(crate) struct Ran {
    pub(crate) summary: TrialSummary,
    pub(crate) failure: Option<Failure>,
}

impl Trial {
    /// Refuses options that make no sense, before anything is touched.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        self.options
            .validate_for(self.workload)
            .map_err(|error| Failure::new(Exit::Usage, error))
    }

    /// Has the data in the database.
    pub(crate) fn prepare(
        &self,
        server: &Server,
        mode: Mode,
        interrupted: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Prepared, Failure> {
        let wanted = Wanted {
            workload: self.workload,
            options: &self.options,
            seed: self.seed,
            users: self.load.users,
            mode,
            connections: self.load_connections,
        };
        let listener = Listener {
            tell: &mut |news| progress.preparing(&news),
            interrupted,
        };
        let prepared = match server {
            Server::Mysql { target, .. } => data::prepare_mysql(target, &wanted, listener),
            Server::Sqlite(target) => data::prepare_sqlite(target, &wanted, listener),
        };
        let prepared = prepared.map_err(|error| prepare_failure(server, error))?;
        progress.prepared(&prepared);
        Ok(prepared)
    }

    /// Drives the load and keeps what it gives.
    pub(crate) fn run(
        &self,
        server: &Server,
        writer: TrialWriter,
        interrupted: &AtomicBool,
        progress: &mut dyn Progress,
    ) -> Result<Ran, Failure> {
        let kinds = workload::kinds(self.workload, &self.options);
        let statement_kinds: Vec<StatementKind> =
            kinds.iter().map(|kind| stored_kind(*kind)).collect();
        let catalog = Arc::new(Catalog::new(self.workload, &self.options, server.dialect()));
        let shared = Shared::new(
            self.workload,
            self.options.clone(),
            self.seed,
            self.load.users,
        )
        .map_err(|error| Failure::new(Exit::Usage, error))?;
        raise_file_limit(self.load.users)?;
        let mut gather = Gather::new(&statement_kinds);
        let mut writer = writer;
        let mut lost_results = None;
        let mut tell = |event: Event<'_>| {
            if let Event::Second(second) = &event {
                gather.add(second);
                if let (None, Err(error)) = (&lost_results, writer.second(second, &statement_kinds))
                {
                    progress.warn(&error.to_string());
                    lost_results = Some(error);
                }
            }
            progress.loading(&event);
        };
        let outcome = self.drive(
            server,
            &catalog,
            &kinds,
            &Arc::new(shared),
            interrupted,
            &mut tell,
        )?;
        let failure = end_failure(server, &outcome.end).or(lost_results.map(Failure::from));
        let summary = gather.finish(Input {
            number: 1,
            repeat: 1,
            label: self.label.clone(),
            point: self.point.clone(),
            setup: self.setup(server),
            instances: Vec::new(),
            metrics: std::collections::BTreeMap::new(),
            reset: None,
            unfinished: outcome.unfinished,
            outcome: stored_outcome(&outcome.end),
        });
        match writer.finish(&summary) {
            Ok(()) => Ok(Ran { summary, failure }),
            Err(error) => Ok(Ran {
                summary,
                failure: failure.or(Some(error.into())),
            }),
        }
    }

    fn drive(
        &self,
        server: &Server,
        catalog: &Arc<Catalog>,
        kinds: &[workload::kind::Kind],
        shared: &Arc<Shared>,
        interrupted: &AtomicBool,
        tell: &mut dyn FnMut(Event<'_>),
    ) -> Result<LoadOutcome, Failure> {
        let work = load::Work {
            catalog,
            kinds,
            users: shared,
        };
        let outcome = match server {
            Server::Mysql { target, .. } => {
                let connector = Arc::new(Connector {
                    target: (**target).clone(),
                    protocol: self.protocol,
                });
                load::run(
                    &self.load,
                    &connector,
                    work,
                    &load::Barrier::new(1),
                    interrupted,
                    tell,
                )
            }
            Server::Sqlite(target) => {
                let connector = Arc::new(SqliteConnector {
                    target: Arc::clone(target),
                });
                load::run(
                    &self.load,
                    &connector,
                    work,
                    &load::Barrier::new(1),
                    interrupted,
                    tell,
                )
            }
        };
        outcome.map_err(|error| load_failure(server, &error))
    }

    fn setup(&self, server: &Server) -> Setup {
        Setup {
            workload: self.workload.to_string(),
            engine: server.engine(),
            server: server.shown(),
            tls: server.tls(),
            instances: 1,
            threads: self.load.users,
            workers: self.load.workers,
            tables: self.workload.tables(&self.options, self.load.users),
            rows: self.options.rows,
            key_range: self.options.highest_key(),
            distribution: self.options.distribution.to_string(),
            seed: self.seed,
            protocol: match self.protocol {
                StatementProtocol::Prepared => Protocol::Prepared,
                StatementProtocol::Text => Protocol::Text,
            },
            arrivals: match self.load.pace {
                Pace::Closed => "closed loop".to_owned(),
                Pace::Open { per_s, arrivals } => match arrivals {
                    Arrivals::Poisson => format!("{per_s}/s poisson"),
                    Arrivals::Constant => format!("{per_s}/s constant"),
                },
            },
            preload: false,
            warmup_s: self.load.warmup.as_secs_f64(),
            time_s: self.load.time.map(|time| time.as_secs_f64()),
            events: self.load.events,
            in_process: matches!(server, Server::Sqlite(_)),
        }
    }
}

/// Worker threads for `users` users where the user named no number: one serves
/// thousands of connections, and one that is saturated is told of.
pub(crate) fn workers(server: &Server, users: u32, wanted: Option<u32>) -> u32 {
    let cpus = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    match server {
        // Calls into SQLite block.
        Server::Sqlite(_) => users,
        Server::Mysql { .. } => {
            let by_host = u32::try_from(cpus / 4).unwrap_or(u32::MAX).max(1);
            wanted.unwrap_or(by_host).min(users)
        }
    }
}

/// Each user needs a socket; most systems allow fewer by default than at most.
fn raise_file_limit(users: u32) -> Result<(), Failure> {
    /// Files that are open besides the users' connections.
    const OTHERS: u64 = 128;
    let needed = u64::from(users) + OTHERS;
    let mut limit = rustix::process::getrlimit(rustix::process::Resource::Nofile);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    limit.current = limit.maximum;
    let raised = rustix::process::setrlimit(rustix::process::Resource::Nofile, limit);
    match limit.maximum {
        Some(maximum) if maximum < needed || raised.is_err() => {
            let message = format!(
                "{users} users need {needed} open files, but this process may have {maximum}"
            );
            let remedy = format!("raise the limit first: ulimit -n {needed}");
            Err(Failure::new(Exit::Usage, message).remedy(Some(remedy)))
        }
        _ => Ok(()),
    }
}

fn stored_kind(kind: workload::kind::Kind) -> StatementKind {
    StatementKind {
        name: kind.name().to_owned(),
        class: match kind.class() {
            workload::kind::Class::Read => Class::Read,
            workload::kind::Class::Write => Class::Write,
            workload::kind::Class::Other => Class::Other,
        },
    }
}

fn stored_outcome(end: &End) -> Outcome {
    match end {
        End::Completed => Outcome::Completed,
        End::Interrupted => Outcome::Interrupted,
        End::Failed(error) => Outcome::Stopped {
            error: error.to_string(),
        },
    }
}

fn end_failure(server: &Server, end: &End) -> Option<Failure> {
    match end {
        End::Completed => None,
        End::Interrupted => Some(Failure::new(
            Exit::Interrupted,
            "interrupted; what was measured until then is kept",
        )),
        End::Failed(error) => {
            let message = format!("the load was stopped by the server's {error}");
            let remedy = server.remedy(error).map(str::to_owned).or_else(|| {
                Some(format!(
                    "if the load is to go on in spite of it, use --ignore-errors {}",
                    error.code
                ))
            });
            Some(Failure::new(Exit::Interrupted, message).remedy(remedy))
        }
    }
}

fn load_failure(server: &Server, error: &LoadError) -> Failure {
    match error {
        LoadError::Connect(error) => Failure::new(
            Exit::Server,
            format!("cannot open the load's connections: {error}"),
        )
        .remedy(server.remedy(error)),
        LoadError::Interrupted => Failure::new(Exit::Interrupted, error),
        LoadError::Worker(_) | LoadError::Alone => Failure::new(Exit::Internal, error),
    }
}

fn prepare_failure(server: &Server, error: PrepareError) -> Failure {
    match error {
        PrepareError::Unfit { problem, remedy } => {
            Failure::new(Exit::Usage, problem).remedy(Some(remedy))
        }
        PrepareError::Mysql(error) => mysql_failure(error),
        PrepareError::Sqlite(error) => {
            let remedy = server.remedy(&error);
            let place = server
                .file()
                .map_or(String::new(), |file| format!("{}: ", file.display()));
            Failure::new(Exit::Server, format!("{place}{error}")).remedy(remedy)
        }
        PrepareError::Damaged(_) => Failure::new(Exit::Server, error),
        PrepareError::Interrupted => Failure::new(Exit::Interrupted, error),
        PrepareError::Io(_) => Failure::new(Exit::Internal, error),
        PrepareError::Distribution(_) => Failure::new(Exit::Usage, error),
    }
}
