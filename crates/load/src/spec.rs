//! The settings of a load, and the ways in which it can end.

use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::thread::available_parallelism;
use std::time::Duration;

use plan::{Pace, Phases, Think, ThinkDistribution};
use serde::{Deserialize, Serialize};

use crate::tally::Tally;
use crate::turns::Turn;

/// Matches every error in [`LoadSpec::ignored_errors`], and in what scripts ignore.
pub const ANY_ERROR: &str = "all";

/// How long a server may send no reply to a load without a time limit. Longer than servers' lock
/// wait timeouts (50 s), after which they reply with an error.
pub const STALL_LIMIT: Duration = Duration::from_secs(60);

/// The part of a load that one of several processes runs. All parts together are what one process
/// would run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// From 0.
    pub number: u32,
    pub of: u32,
}

impl Part {
    pub const WHOLE: Self = Self { number: 0, of: 1 };

    /// The part of `total` that belongs to it.
    pub fn range(self, total: u64) -> Range<u64> {
        let (total, of) = (u128::from(total), u128::from(self.of.max(1)));
        let first = |number: u32| (total * u128::from(number) / of) as u64;
        first(self.number)..first(self.number + 1)
    }

    /// The rank among all of `total` that is the one with this index in the part: first come the
    /// first ones of all parts.
    fn rank(self, total: u32, index: u32) -> u32 {
        let each = total / self.of.max(1);
        match index < each {
            true => index * self.of + self.number,
            // Some parts have one more.
            false => {
                let first = self.range(total.into()).start as u32;
                each * self.of + first - self.number * each
            }
        }
    }
}

/// A load on one server.
#[derive(Debug, Clone)]
pub struct LoadSpec {
    /// Number of virtual users, each with one connection; like `events` and `pace`, those of all
    /// parts.
    pub users: u32,
    pub part: Part,
    pub workers: u32,
    /// Length of the warm-up before the measurement.
    pub warmup: Duration,
    /// Maximum length of the measurement; `None` for no limit.
    pub time: Option<Duration>,
    /// Maximum number of transactions that start in the measurement; `None` for no limit.
    pub events: Option<u64>,
    pub pace: Pace,
    /// How the rate of an open loop, or the number of active users of a closed one, changes over
    /// `time`, which is the length of the phases. The warm-up is like the beginning of the first.
    pub phases: Option<Phases>,
    /// Pause of a virtual user after each transaction.
    pub think: Think,
    pub seed: u64,
    /// Errors that do not stop the load: SQLSTATEs or the engine's own numbers, or [`ANY_ERROR`].
    pub ignored_errors: Vec<String>,
    /// Whether workers run under SCHED_BATCH, so that they do not preempt a server on the same host
    /// for each reply.
    pub batch_scheduling: bool,
    /// The load's place among loads that take turns, whose schedule then decides instead of
    /// `warmup` and `time`; only for a closed loop without a limit of transactions.
    pub turn: Option<Turn>,
    /// Maximum number of connections being opened at the same time, at least one per worker.
    pub connect_limit: u32,
    /// A load without a time limit ends when the server has sent no reply for this long. Any load
    /// fails to start if no further connection has opened for this long.
    pub stall_limit: Duration,
    /// How long running transactions may take after the end of the load.
    pub grace: Duration,
    /// Counts the transactions of each virtual user, if they are asked for.
    pub tally: Option<Arc<Tally>>,
}

impl LoadSpec {
    /// A closed loop without limits, with a worker for each CPU, or for each user if users block.
    pub fn endless(users: u32, blocks: bool) -> Self {
        let cpus = available_parallelism().map_or(1, NonZero::get) as u32;
        Self {
            users,
            part: Part::WHOLE,
            workers: if blocks { users } else { users.min(cpus) },
            warmup: Duration::ZERO,
            time: None,
            events: None,
            pace: Pace::Closed,
            phases: None,
            think: Think {
                mean: Duration::ZERO,
                distribution: ThinkDistribution::Constant,
            },
            seed: 0,
            ignored_errors: Vec::new(),
            batch_scheduling: true,
            turn: None,
            connect_limit: 64,
            stall_limit: Duration::MAX,
            grace: Duration::from_secs(5),
            tally: None,
        }
    }

    /// The users of its part.
    pub fn own_users(&self) -> Range<u32> {
        let own = self.part.range(self.users.into());
        own.start as u32..own.end as u32
    }

    fn worker(&self, number: u32) -> Part {
        let of = self.workers.max(1);
        Part { number, of }
    }

    /// The part of `total` that a worker gets.
    pub(crate) fn share(&self, total: u32, worker: u32) -> Range<u32> {
        let share = self.worker(worker).range(total.into());
        share.start as u32..share.end as u32
    }

    /// The users of a worker.
    pub(crate) fn users_of(&self, worker: u32) -> Range<u32> {
        let own = self.own_users();
        let share = self.share(own.len() as u32, worker);
        own.start + share.start..own.start + share.end
    }

    /// The rank of a user by its index on a worker: first come the first users of all workers, so
    /// that active users are spread over all workers, and so over all parts.
    pub(crate) fn rank(&self, worker: u32, index: u32) -> u32 {
        let own = self.own_users().len() as u32;
        let in_part = self.worker(worker).rank(own, index);
        self.part.rank(self.users, in_part)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum End {
    /// The load reached its time limit or its number of transactions.
    Completed,
    Interrupted,
    /// The server could not be reached at the end of the load, or sent no reply for
    /// [`LoadSpec::stall_limit`].
    ServerLost {
        /// When the last transaction ended, in nanoseconds on the load's clock.
        at_ns: u64,
        /// The error that kept users from continuing.
        error: workload::session::SessionError,
    },
    /// An error that is not in [`LoadSpec::ignored_errors`].
    Failed(workload::session::SessionError),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_load_are_the_whole() {
        for (users, workers, of) in [(10, 2, 3), (7, 3, 7), (100, 2, 1), (1000, 4, 13)] {
            let mut ranks = Vec::new();
            let mut next = 0;
            for number in 0..of {
                let spec = LoadSpec {
                    part: Part { number, of },
                    workers,
                    ..LoadSpec::endless(users, false)
                };
                for worker in 0..workers {
                    let own = spec.users_of(worker);
                    assert_eq!(own.start, next);
                    next = own.end;
                    ranks.extend((0..own.len() as u32).map(|index| spec.rank(worker, index)));
                }
                assert_eq!(spec.own_users().end, next);
            }
            assert_eq!(next, users);
            ranks.sort_unstable();
            assert_eq!(ranks, (0..users).collect::<Vec<_>>());
        }
    }

    #[test]
    fn no_ticket_is_lost_between_the_parts() {
        for (events, of) in [(0, 3), (10, 3), (u64::MAX, 7)] {
            let parts = (0..of).map(|number| Part { number, of }.range(events));
            let shares: Vec<u64> = parts.map(|part| part.end - part.start).collect();
            assert_eq!(shares.iter().sum::<u64>(), events);
            let most = shares.iter().max().unwrap() - shares.iter().min().unwrap();
            assert!(most <= 1, "{shares:?}");
        }
    }
}
