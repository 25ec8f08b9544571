//! Warnings about a trial's numbers, each with its remedy.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::change_point::LevelChange;
use crate::interval::MIN_POINTS;
use crate::steady::UnsteadyReason;

/// A reason to trust a trial's numbers less.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    Emulated,
    /// A worker of the generator was nearly always busy.
    GeneratorSaturated {
        /// Number of the worker, counted from 0.
        worker: usize,
        running: f64,
    },
    /// A worker of the generator had to wait for a CPU.
    GeneratorWaited {
        /// Number of the worker, counted from 0.
        worker: usize,
        waiting: f64,
    },
    /// The generator read replies late, and so sent the next statements late.
    GeneratorDelayed {
        /// Share of the transactions' time (0 to 1).
        share: f64,
        mean_ms: f64,
        p99_ms: f64,
    },
    /// Programs outside the trial took CPU time from it.
    OtherPrograms {
        /// Share of all CPUs (0 to 1).
        share: f64,
        /// The busiest programs: `rustc 92 % of one CPU`.
        busiest: String,
    },
    /// The server cannot keep up with the arrival rate.
    Overloaded {
        /// Arrivals that were due but not started at the end.
        backlog_end: u64,
        growth: u64,
    },
    Short {
        measured_s: f64,
    },
    /// There was no warm-up, so the first seconds of the load count.
    NoWarmup,
    Misses {
        share: f64,
        /// Keys are drawn from 1 to this number.
        key_range: u64,
        rows: u64,
    },
    /// The load became steady only during the measurement.
    WarmupTooShort {
        /// When it became steady, in seconds after the load's start.
        steady_from_s: f64,
        /// When the measurement began, in seconds after the load's start.
        warmup_s: f64,
    },
    NeverSteady {
        #[serde(flatten)]
        reason: UnsteadyReason,
    },
    /// Users, throughput and response time contradict Little's law.
    LittlesLaw {
        /// Virtual users; open loop: the mean number of transactions served and waiting.
        users: f64,
        /// Throughput times the sum of response and think time.
        accounted: f64,
    },
    /// The measurement reached its maximum duration before its target precision.
    Unsure {
        /// Half of the interval at the end, as a share of the mean (0 to 1); `None` without one.
        reached: Option<f64>,
        /// The target precision, as a share of the mean (0 to 1).
        asked: f64,
    },
    /// Throughput at the end differs from throughput at the beginning.
    Unsteady {
        /// Mean of the first third, in transactions per second.
        first_per_s: f64,
        /// Mean of the last third, in transactions per second.
        last_per_s: f64,
    },
    /// Throughput changed before the first fault, although recovery is measured against it.
    BaselineUnsteady {
        /// Change from the first third of that time to the last one, as a share of the first (-1 or
        /// more).
        share: f64,
    },
    /// The level of throughput changed during the measurement.
    LevelChanged {
        /// In order of time; never empty.
        changes: Vec<LevelChange>,
    },
    Stalled {
        seconds: u64,
    },
    /// Transactions still running at the end had taken longer than any other.
    Unfinished {
        count: u64,
        oldest_ms: f64,
    },
    Cancelled {
        count: u64,
    },
    Restarts {
        /// Share of all attempts (0 to 1).
        share: f64,
    },
    /// The servers' logs reached their maximum size before a checkpoint was due.
    ForcedCheckpoints {
        count: u64,
    },
    Reconnects {
        count: u64,
    },
    /// A foreign program took part in a private cluster, was logged in to it, or tried to.
    Strangers {
        /// For example `server 1: a member at 127.0.0.1:4567`, or a line of a server's log.
        seen: Vec<String>,
    },
    /// Faults were healed before the cluster can have noticed them.
    HealedEarly {
        /// Seconds after which the first of them was healed.
        healed_s: f64,
        /// Seconds that noticing may take.
        noticed_s: f64,
        /// What notices it, with the timeouts.
        detector: String,
    },
    LedgerUnchecked {
        reason: String,
    },
    /// The ledger's history is incomplete, because it could no longer be written.
    LedgerStopped {
        /// When recording stopped, in seconds on the trial's clock.
        at_s: f64,
    },
}

impl Warning {
    /// A short name of the warning's kind, as in `not steady (3 of 8 trials)`.
    pub fn in_short(&self) -> &'static str {
        match self {
            Self::Emulated => "emulated guest",
            Self::GeneratorSaturated { .. } => "generator saturated",
            Self::GeneratorWaited { .. } => "generator waited for a CPU",
            Self::GeneratorDelayed { .. } => "generator read replies late",
            Self::OtherPrograms { .. } => "CPU taken by others",
            Self::Overloaded { .. } => "overloaded",
            Self::Short { .. } => "too short for intervals",
            Self::NoWarmup => "no warm-up",
            Self::Misses { .. } => "lookups of missing rows",
            Self::WarmupTooShort { .. } => "warm-up too short",
            Self::NeverSteady { .. } | Self::Unsteady { .. } => "not steady",
            Self::BaselineUnsteady { .. } => "not steady before the fault",
            Self::LittlesLaw { .. } => "Little's law violated",
            Self::Unsure { .. } => "target precision not reached",
            Self::LevelChanged { .. } => "level changed",
            Self::Stalled { .. } => "stalls",
            Self::Unfinished { .. } => "long transactions unfinished",
            Self::Cancelled { .. } => "transactions cancelled",
            Self::Restarts { .. } => "many restarts",
            Self::ForcedCheckpoints { .. } => "forced checkpoints",
            Self::Reconnects { .. } => "connections lost",
            Self::Strangers { .. } => "strangers at a private cluster",
            Self::HealedEarly { .. } => "faults healed early",
            Self::LedgerUnchecked { .. } => "ledger not checked",
            Self::LedgerStopped { .. } => "ledger stopped early",
        }
    }

    /// Severity among warnings of the same kind: more is worse.
    pub fn weight(&self) -> f64 {
        match self {
            Self::GeneratorSaturated { running: share, .. }
            | Self::GeneratorWaited { waiting: share, .. }
            | Self::GeneratorDelayed { share, .. }
            | Self::OtherPrograms { share, .. }
            | Self::Misses { share, .. }
            | Self::Restarts { share } => *share,
            Self::Overloaded { growth: count, .. }
            | Self::Stalled { seconds: count }
            | Self::Unfinished { count, .. }
            | Self::Cancelled { count }
            | Self::ForcedCheckpoints { count }
            | Self::Reconnects { count } => *count as f64,
            Self::LevelChanged { changes } => changes.len() as f64,
            Self::Strangers { seen } => seen.len() as f64,
            Self::Short { measured_s } => -measured_s,
            Self::WarmupTooShort {
                steady_from_s,
                warmup_s,
            } => steady_from_s - warmup_s,
            Self::HealedEarly {
                healed_s,
                noticed_s,
                ..
            } => noticed_s - healed_s,
            Self::BaselineUnsteady { share } => share.abs(),
            Self::LittlesLaw { users, accounted } => (accounted / users - 1.0).abs(),
            Self::Unsure { reached, .. } => reached.unwrap_or(f64::INFINITY),
            Self::Unsteady {
                first_per_s,
                last_per_s,
            } => (last_per_s / first_per_s).ln().abs(),
            Self::Emulated
            | Self::NoWarmup
            | Self::NeverSteady { .. }
            | Self::LedgerUnchecked { .. }
            | Self::LedgerStopped { .. } => 0.0,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Emulated => f.write_str(
                "the guest's CPUs were emulated, without KVM: the numbers are those of the emulator, \
                 many times slower than a virtual machine. For the cost of virtualization, use a \
                 host where /dev/kvm works.",
            ),
            Self::GeneratorSaturated { worker, running } => write!(
                f,
                "the load generator was the bottleneck: worker {worker} was busy {:.0} % of the time, \
                 so the server may be capable of more. Add --workers, or use a faster load machine.",
                running * 100.0
            ),
            Self::GeneratorWaited { worker, waiting } => write!(
                f,
                "the load generator waited for a CPU: worker {worker} for {:.0} % of the time. \
                 Response times include that wait. Give the generator its own cores, or run it on \
                 another machine.",
                waiting * 100.0
            ),
            Self::GeneratorDelayed {
                share,
                mean_ms,
                p99_ms,
            } => write!(
                f,
                "the load generator read replies late: {mean_ms:.2} ms on average (p99 {p99_ms:.2} \
                 ms), {:.0} % of the time that transactions took. Response times end when a reply \
                 arrives, but the next statement is sent that much later: transactions of several \
                 statements take longer, and a closed loop sends fewer. Give the generator its own \
                 cores, add --workers, or run it on another machine.",
                share * 100.0
            ),
            Self::OtherPrograms { share, busiest } => write!(
                f,
                "other programs used {:.0} % of the CPUs: {busiest}. Stop them, or measure when they \
                 have finished.",
                share * 100.0
            ),
            Self::Overloaded {
                backlog_end,
                growth,
            } => write!(
                f,
                "the server cannot keep up with the arrival rate: {backlog_end} transactions were due \
                 but not started at the end. The backlog grew by {growth}, so response times keep \
                 growing. Lower the rate, or add virtual users if the server is idle."
            ),
            Self::Unsure { reached, asked } => {
                let reached = reached.map_or("has no confidence interval".to_owned(), |share| {
                    format!("is known to ±{:.2} %", share * 100.0)
                });
                write!(
                    f,
                    "target precision not reached: throughput {reached}, the target is ±{:.2} %. \
                     Measure longer, or look for the cause in the series.",
                    asked * 100.0
                )
            }
            Self::Short { measured_s } => write!(
                f,
                "measured for only {measured_s:.1} s: confidence intervals require more than \
                 {MIN_POINTS} s. Measure for 60 s, or repeat the trial (--repeats; in a study, \
                 load.repeats)."
            ),
            Self::NoWarmup => f.write_str(
                "no warm-up: the first seconds count, with cold caches and new connections. Use \
                 --warmup.",
            ),
            Self::ForcedCheckpoints { count } => write!(
                f,
                "{count} checkpoints were forced before they were due, usually because the log \
                 reached its maximum size; after each, pages are logged in full again. Allow more \
                 log, or note that throughput depends on its size."
            ),
            Self::Misses {
                share,
                key_range,
                rows,
            } => misses_text(f, *share, *key_range, *rows),
            Self::WarmupTooShort {
                steady_from_s,
                warmup_s,
            } => write!(
                f,
                "the warm-up was too short: the measurement started at {warmup_s:.0} s, but steady \
                 state only at {steady_from_s:.0} s, and the seconds in between count. Warm up for \
                 at least {steady_from_s:.0} s."
            ),
            Self::NeverSteady { reason } => write!(
                f,
                "not steady: {reason}. Another run may have a different mean. Warm up or measure \
                 longer, and look for the cause in the series."
            ),
            Self::LittlesLaw { users, accounted } => write!(
                f,
                "Little's law does not hold: throughput × (response + think time) accounts for \
                 {accounted:.1} of {users:.1} users. Some time is not part of any transaction: check \
                 errors, reconnects, and the generator's CPU, and do not trust the response times."
            ),
            Self::Unsteady {
                first_per_s,
                last_per_s,
            } => write!(
                f,
                "not steady: {first_per_s:.1} transactions/s in the first third, {last_per_s:.1} in \
                 the last. Warm up or measure longer, and look for the cause in the series."
            ),
            Self::BaselineUnsteady { share } => write!(
                f,
                "throughput {} by {:.0} % before the first fault, and recovery is measured against \
                 that time. Use a longer load.warmup, or a later fault.",
                if *share > 0.0 { "rose" } else { "fell" },
                share.abs() * 100.0
            ),
            Self::LevelChanged { changes } => levels_text(f, changes),
            Self::Stalled { seconds } => write!(
                f,
                "{seconds} {} had no completed transactions. Look for lock waits, checkpoints or \
                 a full disk on the server at those times, which the series shows.",
                if *seconds == 1 { "second" } else { "seconds" }
            ),
            Self::Unfinished { count, oldest_ms } => write!(
                f,
                "{count} transactions were still running at the end, the oldest for \
                 {oldest_ms:.0} ms, longer than any that ended: the true tail is longer than \
                 measured. Measure longer."
            ),
            Self::Cancelled { count } => write!(
                f,
                "{count} transactions did not complete after the measurement and were cancelled; the \
                 percentiles do not include them. Look for locks held on the server."
            ),
            Self::Restarts { share } => write!(
                f,
                "{:.1} % of the attempts failed with a deadlock or lock timeout and were restarted. \
                 Use fewer virtual users or more rows, unless contention is what you measure.",
                share * 100.0
            ),
            Self::Reconnects { count } => write!(
                f,
                "{count} connections were lost and reopened. For the cause, see the server's log and \
                 its connection limits."
            ),
            Self::Strangers { seen } => {
                const MOST: usize = 4;
                let told: Vec<&str> = seen.iter().take(MOST).map(String::as_str).collect();
                let rest = match seen.len().saturating_sub(MOST) {
                    0 => String::new(),
                    more => format!("; and {more} more"),
                };
                write!(
                    f,
                    "somebody else took part in a private cluster, was logged in to it, or tried \
                     to: {}{rest}. Find out which process that was, and measure on a host that \
                     nobody else uses.",
                    told.join("; ")
                )
            }
            Self::HealedEarly {
                healed_s,
                noticed_s,
                detector,
            } => write!(
                f,
                "a fault was healed after {healed_s} s, but noticing it may take {noticed_s} s \
                 ({detector}), so there may have been no failover. To measure one, use a longer `heal`."
            ),
            Self::LedgerUnchecked { reason } => write!(
                f,
                "the ledger proves nothing about acknowledged commits: {reason}. Let the trial end \
                 with a member that can be read, long enough after a fault for transfers to go on."
            ),
            Self::LedgerStopped { at_s } => write!(
                f,
                "the ledger stopped at {at_s:.1} s because its history could not be written: it \
                 proves nothing about later commits. Free disk space where results are stored."
            ),
        }
    }
}

fn levels_text(f: &mut fmt::Formatter<'_>, changes: &[LevelChange]) -> fmt::Result {
    const MOST: usize = 4;
    let told = changes.iter().take(MOST).map(|change| {
        let LevelChange {
            at_s,
            before_per_s,
            after_per_s,
        } = change;
        format!("at {at_s:.0} s from {before_per_s:.0} to {after_per_s:.0}")
    });
    let told: Vec<String> = told.collect();
    let rest = match changes.len().saturating_sub(MOST) {
        0 => String::new(),
        more => format!(", and {more} more times"),
    };
    write!(
        f,
        "throughput changed its level {} transactions/s{rest}; the mean covers all levels. Check \
         what the server and the host did at that time: a full log or cache, a checkpoint, another \
         program.",
        told.join(", ")
    )
}

fn misses_text(f: &mut fmt::Formatter<'_>, share: f64, range: u64, rows: u64) -> fmt::Result {
    let percent = share * 100.0;
    if range > rows {
        write!(
            f,
            "{percent:.1} % of the lookups found no row: keys are drawn from 1 to {range}, but a \
             table has {rows} rows. A missing row costs less than an existing one: draw keys only \
             from existing rows, or prepare more."
        )
    } else {
        write!(
            f,
            "{percent:.1} % of the lookups found no row, though keys are drawn from {rows} rows: \
             the tables have fewer rows than they should, or concurrent transactions had deleted \
             the rows. Unless the workload deletes rows, prepare the data again."
        )
    }
}
