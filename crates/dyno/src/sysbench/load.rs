//! Runs the loads of commands, and ends as sysbench does.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ::load::{Arrivals, End, LoadError, LoadEvent, LoadOutcome, LoadSpec, Pace, Stop};
use measure::setup::{Outcome, Unfinished};
use rustix::process::{Resource, getrlimit, setrlimit};
use sysbench::options::{INTERRUPTED, OptionError};
use sysbench::report::Level;
use workload::session::SessionError;

use super::reports::Reports;
use super::{DONE, Invocation};
use crate::failure::Failure;

/// The exit code where users are not ready in time, or events do not end in time.
const TOO_LATE: u8 = 2;

/// Runs a load on what a test connects to.
pub(super) type Run<'a> =
    &'a dyn Fn(&LoadSpec, &Stop, &mut dyn FnMut(LoadEvent)) -> Result<LoadOutcome, LoadError>;

impl Invocation {
    /// The load that the general options describe.
    pub(super) fn spec(&self, blocks: bool) -> LoadSpec {
        let general = &self.general;
        let base = LoadSpec::endless(general.threads, blocks);
        LoadSpec {
            seed: self.seed,
            warmup: general.warmup,
            time: general.time,
            events: general.events.map(u64::from),
            pace: general.rate.map_or(Pace::Closed, |per_s| Pace::Open {
                per_s: per_s.into(),
                arrivals: Arrivals::Poisson,
            }),
            grace: general.forced_shutdown.unwrap_or(base.grace),
            ..base
        }
    }

    /// Runs the load of a test, and prints its reports. Returns the exit code.
    pub(super) fn measure(
        &mut self,
        spec: LoadSpec,
        mut reports: Reports,
        run: Run<'_>,
    ) -> Result<u8, OptionError> {
        let spec = LoadSpec {
            tally: Some(Arc::clone(&reports.tally)),
            ..spec
        };
        if self.servers.is_some() {
            let (dialect, keys) = (self.line.dialect, self.general.distribution);
            let which = match keys == dialect.distribution() {
                true => "its default distribution",
                false => "the distribution",
            };
            let version = dialect.version();
            self.log.report(&format!(
                "dyno: follows sysbench {version} and draws keys from {which}, {keys}\n\n"
            ));
        }
        self.log.report(&reports.report.head());
        self.log.report(self.line.dialect.initializing());
        let limit_s = self.line.values.within("thread-init-timeout", 1..=u32::MAX);
        let limit_s = limit_s.unwrap_or(30);
        let limit = Duration::from_secs(limit_s.into());
        let (stop, began, mut is_late) = (Stop::default(), Instant::now(), false);
        let ended = run(&spec, &stop, &mut |event| {
            pass_on(&self.interrupted, &stop);
            match event {
                LoadEvent::Connecting { open } if open == spec.users => {
                    self.log.report(&reports.report.started());
                }
                LoadEvent::Connecting { .. } if began.elapsed() >= limit => {
                    is_late = true;
                    stop.interrupt();
                }
                LoadEvent::Second(second) => self.log.report(&reports.second(&second)),
                LoadEvent::Connecting { .. } | LoadEvent::Draining { .. } => {}
            }
        });
        let ended = match is_late {
            true => Err(OptionError {
                message: format!("Worker threads failed to initialize within {limit_s} seconds!"),
                exit: TOO_LATE,
                ..OptionError::from(Failure::server(""))
            }),
            false => self.ended(ended),
        };
        let discard = |_: &OptionError| reports.discard();
        let (mut code, unfinished) = ended.inspect_err(discard)?;
        let outcome = match code {
            INTERRUPTED => Outcome::Interrupted,
            _ => Outcome::Completed,
        };
        let mut cut_off = 0;
        if self.general.forced_shutdown.is_some() && unfinished.cancelled > 0 {
            let message = "The --max-time limit has expired, forcing shutdown...";
            self.log.message(Level::Fatal, message);
            (code, cut_off) = (TOO_LATE, unfinished.cancelled);
        }
        self.log.report(&reports.finish(cut_off));
        reports.close(outcome, unfinished)?;
        Ok(code)
    }

    /// The exit code of a load, and the transactions that were running at its end.
    pub(super) fn ended(
        &self,
        ended: Result<LoadOutcome, LoadError>,
    ) -> Result<(u8, Unfinished), OptionError> {
        let load = ended.as_ref();
        let unfinished = load.map(|load| load.unfinished).unwrap_or_default();
        match ended.map(|load| load.end) {
            Ok(End::Completed) => Ok((DONE, unfinished)),
            Ok(End::Interrupted) => Ok((INTERRUPTED, unfinished)),
            // It makes scripts fail.
            _ if self.interrupted.load(Ordering::Relaxed) => Ok((INTERRUPTED, unfinished)),
            Ok(End::Failed(error) | End::ServerLost { error, .. }) => Err(self.explain(&error)),
            Err(LoadError::Connect(error)) => {
                let mut error = self.explain(&error);
                error.message += "\nFATAL: Thread initialization failed!";
                Err(error)
            }
            Err(error) => Err(Failure::internal(error).into()),
        }
    }

    /// The error that ended a load, with what to do about it.
    fn explain(&self, error: &SessionError) -> OptionError {
        match &self.servers {
            Some(servers) => servers.explain(error),
            None => Failure::server(&error.message).into(),
        }
    }
}

pub(super) fn pass_on(interrupted: &AtomicBool, stop: &Stop) {
    if interrupted.load(Ordering::Relaxed) {
        stop.interrupt();
    }
}

/// Each virtual user has files, and the default limit is low. Where it cannot be raised, opening a
/// connection says so.
pub(super) fn raise_file_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    let _ = setrlimit(Resource::Nofile, limit);
}
