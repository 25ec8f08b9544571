//! Runs the loads of commands, and ends as sysbench does.

use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::load::{Arrivals, End, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pace, Stop};
use lab::RunOptions;
use plan::{Think, ThinkDistribution};
use rustix::process::{Resource, getrlimit, setrlimit};
use sysbench::options::OptionError;
use sysbench::report::Level;
use workload::session::SessionError;

use super::reports::Reports;
use super::{DONE, INTERRUPTED, Invocation, fatal};
use crate::failure::Failure;

/// How long virtual users may take to get ready, unless an option says otherwise.
const INIT_LIMIT_S: i32 = 30;
/// How long events may run after the end, unless an option says otherwise.
const GRACE: Duration = Duration::from_secs(5);
/// The exit code where users are not ready in time, or events do not end in time.
const TOO_LATE: u8 = 2;

/// Runs a load on what a test connects to.
pub(super) type Run<'a> =
    &'a dyn Fn(&LoadSpec, &Stop, &mut dyn FnMut(LoadEvent)) -> Result<LoadOutcome, LoadError>;

impl Invocation {
    /// The load that the general options describe, with so many worker threads.
    pub(super) fn spec(&self, workers: u32) -> LoadSpec {
        let general = &self.general;
        LoadSpec {
            users: general.threads,
            workers,
            warmup: general.warmup,
            time: general.time,
            events: general.events.map(u64::from),
            pace: general.rate.map_or(Pace::Closed, |per_s| Pace::Open {
                per_s: per_s.into(),
                arrivals: Arrivals::Poisson,
            }),
            phases: None,
            think: Think {
                mean: Duration::ZERO,
                distribution: ThinkDistribution::Constant,
            },
            seed: self.seed,
            ignored_errors: Vec::new(),
            batch_scheduling: true,
            turn: None,
            connect_limit: RunOptions::default().connect_limit,
            // A statement may take as long as it takes.
            stall_limit: Duration::MAX,
            grace: general.forced_shutdown.unwrap_or(GRACE),
            tally: None,
        }
    }

    /// A load whose users do something once.
    pub(super) fn spec_of_command(&self, users: u32, workers: u32) -> LoadSpec {
        LoadSpec {
            users,
            warmup: Duration::ZERO,
            time: None,
            events: None,
            pace: Pace::Closed,
            ..self.spec(workers)
        }
    }

    /// Worker threads for users that do not block.
    pub(super) fn workers(&self) -> u32 {
        let cpus = std::thread::available_parallelism().map_or(1, NonZero::get);
        u32::try_from(cpus).map_or(self.general.threads, |cpus| cpus.min(self.general.threads))
    }

    /// Runs a command's load. Returns the exit code.
    pub(super) fn call(&self, spec: &LoadSpec, run: Run<'_>) -> Result<u8, OptionError> {
        let stop = Stop::default();
        let ended = run(spec, &stop, &mut |_| pass_on(&self.interrupted, &stop));
        self.ended(ended).map(|(code, _)| code)
    }

    /// Runs the load of a test, and prints its reports. Returns the exit code.
    pub(super) fn measure(
        &mut self,
        spec: LoadSpec,
        mut reports: Reports,
        run: Run<'_>,
    ) -> Result<u8, OptionError> {
        raise_file_limit();
        let spec = LoadSpec {
            tally: Some(Arc::clone(&reports.tally)),
            ..spec
        };
        self.log.report(&reports.head());
        let (stop, began, limit) = (Stop::default(), Instant::now(), self.init_limit());
        let mut is_late = false;
        let ended = run(&spec, &stop, &mut |event| {
            pass_on(&self.interrupted, &stop);
            match event {
                LoadEvent::Connecting { open } if open == spec.users => {
                    self.log.report(&reports.started());
                }
                LoadEvent::Connecting { .. } if began.elapsed() >= limit => {
                    is_late = true;
                    stop.interrupt();
                }
                LoadEvent::Second(second) => self.log.report(&reports.second(&second)),
                LoadEvent::Connecting { .. } | LoadEvent::Draining { .. } => {}
            }
        });
        if is_late {
            let limit_s = limit.as_secs();
            return Err(OptionError {
                message: format!("Worker threads failed to initialize within {limit_s} seconds!"),
                exit: TOO_LATE,
                ..fatal(Failure::server(""))
            });
        }
        let (code, cut_off) = self.ended(ended)?;
        let cut_off = self.general.forced_shutdown.map_or(0, |_| cut_off);
        if cut_off > 0 {
            let message = "The --max-time limit has expired, forcing shutdown...";
            self.log.message(Level::Fatal, message);
        }
        self.log.report(&reports.finish(cut_off));
        reports.close(code == INTERRUPTED).map_err(fatal)?;
        Ok(if cut_off > 0 { TOO_LATE } else { code })
    }

    /// The exit code of a load, and how many transactions it has cut off.
    fn ended(&self, ended: Result<LoadOutcome, LoadError>) -> Result<(u8, u64), OptionError> {
        let outcome = match ended {
            Ok(outcome) => outcome,
            Err(LoadError::Interrupted) => return Ok((INTERRUPTED, 0)),
            Err(LoadError::Connect(error)) => {
                let mut error = self.explain(&error);
                error.message += "\nFATAL: Thread initialization failed!";
                return Err(error);
            }
            Err(error) => return Err(fatal(Failure::internal(error))),
        };
        let cut_off = outcome.unfinished.cancelled;
        // An interrupt makes scripts fail.
        let is_interrupted = self.interrupted.load(Ordering::Relaxed);
        match outcome.end {
            End::Completed => Ok((DONE, cut_off)),
            End::Failed(error) | End::ServerLost { error, .. } if !is_interrupted => {
                Err(self.explain(&error))
            }
            _ => Ok((INTERRUPTED, cut_off)),
        }
    }

    /// The error that ended a load, with what to do about it.
    fn explain(&self, error: &SessionError) -> OptionError {
        match &self.servers {
            Some(servers) => servers.explain(error),
            None => fatal(Failure::server(&error.message)),
        }
    }

    fn init_limit(&self) -> Duration {
        let limit_s = self.line.values.int("thread-init-timeout");
        let limit_s = limit_s.ok().filter(|limit_s| *limit_s > 0);
        Duration::from_secs(limit_s.unwrap_or(INIT_LIMIT_S).unsigned_abs().into())
    }
}

fn pass_on(interrupted: &AtomicBool, stop: &Stop) {
    if interrupted.load(Ordering::Relaxed) {
        stop.interrupt();
    }
}

/// Each virtual user has files, and the default limit is low. Where it cannot be raised, opening a
/// connection says so.
fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
