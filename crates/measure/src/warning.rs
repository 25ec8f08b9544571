//! What to know before a trial's numbers are believed, and what to do about it.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::change::LevelChange;
use crate::interval::MIN_POINTS;
use crate::steady::Restless;

/// Something that makes a trial's numbers less than they seem.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// A worker of the generator had hardly any time left.
    GeneratorSaturated {
        /// Its number, from 0.
        worker: usize,
        /// Share of the time that it ran (0 to 1).
        running: f64,
    },
    /// A worker of the generator had to wait for a CPU.
    GeneratorWaited {
        /// Its number, from 0.
        worker: usize,
        /// Share of the time that it waited (0 to 1).
        waiting: f64,
    },
    /// The generator read replies late, and so sent late what came next.
    GeneratorDelayed {
        /// Share of the time of transactions (0 to 1).
        share: f64,
        /// Mean delay of a reply, in milliseconds.
        mean_ms: f64,
        /// 99 % of the replies were read with no more delay, in milliseconds.
        p99_ms: f64,
    },
    /// More transactions arrive than the server can do.
    Overloaded {
        /// Arrivals that were due and not started at the end.
        backlog_end: u64,
        /// How much that grew during the measurement.
        growth: u64,
    },
    /// Too short for confidence intervals.
    Short {
        /// Length of the measure phase, in seconds.
        measured_s: f64,
    },
    /// The first seconds of the load count.
    NoWarmup,
    /// Many lookups found no row.
    Misses {
        /// Share of lookups (0 to 1).
        share: f64,
        /// Keys are drawn from 1 to this.
        key_range: u64,
        /// Rows in each table.
        rows: u64,
    },
    /// The warm-up ended when the measurement had begun.
    WarmupTooShort {
        /// Steady from so many seconds after the load's start.
        steady_from_s: f64,
        /// When the measurement began, in seconds after the load's start.
        warmup_s: f64,
    },
    /// The measurement was never in steady state.
    NeverSteady {
        /// Why.
        #[serde(flatten)]
        reason: Restless,
    },
    /// Users, throughput and response time do not fit each other.
    LittlesLaw {
        /// Virtual users that were there; open loop: served and waiting on average.
        users: f64,
        /// Throughput times the time that each takes.
        accounted: f64,
    },
    /// The longest measurement was over before the mean was known well enough.
    Unsure {
        /// Half of its interval at the end, as a share of it (0 to 1); `None` without one.
        reached: Option<f64>,
        /// What was asked for.
        asked: f64,
    },
    /// Throughput at the end differs from that at the beginning.
    Unsteady {
        /// Mean of the first third, in transactions per second.
        first_per_s: f64,
        /// Mean of the last third, in transactions per second.
        last_per_s: f64,
    },
    /// Throughput changed its level while it was measured.
    LevelChanged {
        /// In the order of time, at least one.
        changes: Vec<LevelChange>,
    },
    /// Seconds in which no transaction ended.
    Stalled {
        /// How many of them.
        seconds: u64,
    },
    /// Transactions were still running that had taken longer than most.
    Unfinished {
        /// How many were running.
        count: u64,
        /// How long the oldest had been, in milliseconds.
        oldest_ms: f64,
    },
    /// Transactions were cut off.
    Cancelled {
        /// How many.
        count: u64,
    },
    /// Many transactions had to be done again.
    Restarts {
        /// Share of all attempts (0 to 1).
        share: f64,
    },
    /// Connections were lost.
    Reconnects {
        /// How many.
        count: u64,
    },
}

impl Warning {
    /// Its kind in a few words, as in `not steady (3 of 8 trials)`.
    #[must_use]
    pub fn in_short(&self) -> &'static str {
        match self {
            Self::GeneratorSaturated { .. } => "generator saturated",
            Self::GeneratorWaited { .. } => "generator waited for a CPU",
            Self::GeneratorDelayed { .. } => "generator read replies late",
            Self::Overloaded { .. } => "overloaded",
            Self::Short { .. } => "too short for intervals",
            Self::NoWarmup => "no warm-up",
            Self::Misses { .. } => "lookups of rows that are not there",
            Self::WarmupTooShort { .. } => "warm-up too short",
            Self::NeverSteady { .. } | Self::Unsteady { .. } => "not steady",
            Self::LittlesLaw { .. } => "Little's law off",
            Self::Unsure { .. } => "less sure than asked for",
            Self::LevelChanged { .. } => "level changed",
            Self::Stalled { .. } => "stalls",
            Self::Unfinished { .. } => "long transactions unfinished",
            Self::Cancelled { .. } => "transactions cut off",
            Self::Restarts { .. } => "many restarts",
            Self::Reconnects { .. } => "connections lost",
        }
    }

    /// How bad it is among warnings of its kind: more is worse.
    #[must_use]
    pub fn weight(&self) -> f64 {
        match self {
            Self::GeneratorSaturated { running: share, .. }
            | Self::GeneratorWaited { waiting: share, .. }
            | Self::GeneratorDelayed { share, .. }
            | Self::Misses { share, .. }
            | Self::Restarts { share } => *share,
            Self::Overloaded { growth: count, .. }
            | Self::Stalled { seconds: count }
            | Self::Unfinished { count, .. }
            | Self::Cancelled { count }
            | Self::Reconnects { count } => *count as f64,
            Self::LevelChanged { changes } => changes.len() as f64,
            Self::Short { measured_s } => -measured_s,
            Self::WarmupTooShort {
                steady_from_s,
                warmup_s,
            } => steady_from_s - warmup_s,
            Self::LittlesLaw { users, accounted } => (accounted / users - 1.0).abs(),
            Self::Unsure { reached, .. } => reached.unwrap_or(f64::INFINITY),
            Self::Unsteady {
                first_per_s,
                last_per_s,
            } => (last_per_s / first_per_s).ln().abs(),
            Self::NoWarmup | Self::NeverSteady { .. } => 0.0,
        }
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::GeneratorSaturated { worker, running } => write!(
                f,
                "the load generator was the bottleneck: worker {worker} ran for {:.0} % of the \
                 time, so the server could do more than this shows. Add --workers, or a second \
                 load machine.",
                running * 100.0
            ),
            Self::GeneratorWaited { worker, waiting } => write!(
                f,
                "the load generator had to wait for a CPU: worker {worker} for {:.0} % of the \
                 time. Client and server share cores, and response times include the wait. Give \
                 the client its own cores, or run it on another machine.",
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
                 arrives, but the next statement is sent late by that: transactions of several \
                 statements take longer, and a closed loop sends fewer. Give the client its own \
                 cores, add --workers, or run it on another machine.",
                share * 100.0
            ),
            Self::Overloaded {
                backlog_end,
                growth,
            } => write!(
                f,
                "more transactions arrive than the server does: {backlog_end} were due and not \
                 started at the end, {growth} more than at the beginning, so response times grow \
                 for as long as it runs. Lower the rate, or add virtual users if the server is idle."
            ),
            Self::Unsure { reached, asked } => {
                let reached = reached.map_or("not at all".to_owned(), |share| {
                    format!("only to ±{:.1} %", share * 100.0)
                });
                write!(
                    f,
                    "not as sure as it was to be: throughput is known {reached}, not to ±{:.1} %. \
                     Give it a longer limit, or look at the series for what disturbs it.",
                    asked * 100.0
                )
            }
            Self::Short { measured_s } => write!(
                f,
                "measured for {measured_s:.1} s: too short to say by itself how sure its numbers are. \
                 Measure for at least {MIN_POINTS} s, better 60 s, or repeat."
            ),
            Self::NoWarmup => f.write_str(
                "no warm-up: the first seconds count, with cold caches and new connections. Give \
                 --warmup.",
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
                "the warm-up was too short: steady from {steady_from_s:.0} s, but measured from \
                 {warmup_s:.0} s on, and the seconds between them count. Warm up for at least \
                 {steady_from_s:.0} s."
            ),
            Self::NeverSteady { reason } => write!(
                f,
                "not steady: {reason}. Its mean is that of this run and may be another in the \
                 next. Warm up and measure for longer, and look at the series."
            ),
            Self::LittlesLaw { users, accounted } => write!(
                f,
                "Little's law is off: throughput x (response + think time) accounts for \
                 {accounted:.1} users, and there were {users:.1}. Time passed that no transaction \
                 shows: look at errors, reconnects and the generator's CPU, and do not trust the \
                 response times."
            ),
            Self::Unsteady {
                first_per_s,
                last_per_s,
            } => write!(
                f,
                "not steady: {first_per_s:.1} transactions/s in the first third, {last_per_s:.1} in \
                 the last. Lengthen the warm-up or the measurement, and look at the series."
            ),
            Self::LevelChanged { changes } => levels_text(f, changes),
            Self::Stalled { seconds } => write!(
                f,
                "no transaction ended in {seconds} of the seconds. Look for lock waits, \
                 checkpoints or a full disk on the server at those times; the series shows them."
            ),
            Self::Unfinished { count, oldest_ms } => write!(
                f,
                "{count} transactions were still running at the end, the oldest for \
                 {oldest_ms:.0} ms, longer than any that ended: the true tail is longer than \
                 shown. Measure for longer."
            ),
            Self::Cancelled { count } => write!(
                f,
                "{count} transactions did not end after the measurement and were cut off; their \
                 times are not in the percentiles. Look for locks that are held on the server."
            ),
            Self::Restarts { share } => write!(
                f,
                "{:.1} % of the attempts ended in a deadlock or lock timeout and were done again. \
                 Use fewer virtual users or more rows, unless contention is what you measure.",
                share * 100.0
            ),
            Self::Reconnects { count } => write!(
                f,
                "{count} connections were lost and opened again. The server's log and its \
                 connection limits say why."
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
        more => format!(", and {more} times more"),
    };
    write!(
        f,
        "throughput changed its level {} transactions/s{rest}, and the mean is over all of it. Look \
         at what server and host did then: a full log or cache, a checkpoint, another program.",
        told.join(", ")
    )
}

fn misses_text(f: &mut fmt::Formatter<'_>, share: f64, range: u64, rows: u64) -> fmt::Result {
    let percent = share * 100.0;
    if range > rows {
        write!(
            f,
            "{percent:.1} % of the lookups found no row: keys are drawn from 1 to {range}, but a \
             table has {rows} rows. Missing rows cost less than found ones; draw keys only from \
             the rows, or prepare more."
        )
    } else {
        write!(
            f,
            "{percent:.1} % of the lookups found no row, though keys are drawn from {rows} rows: \
             the tables hold less than they should. Prepare the data again."
        )
    }
}
