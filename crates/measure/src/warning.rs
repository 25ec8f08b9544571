//! Warnings about a trial's numbers, each with its remedy.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::change_point::LevelChange;
use crate::interval::MIN_POINTS;
use crate::steady::{UnsteadyReason, rose_or_fell};

/// Defines the warnings: fields, short name, severity among warnings of the same kind, and text.
macro_rules! warnings {
    ($(
        $(#[$about:meta])*
        $kind:ident $({ $($(#[$field_about:meta])* $field:ident: $type:ty,)+ })?
            = $short:literal, $weight:expr, $text:expr;
    )+) => {
        /// A reason to trust a trial's numbers less.
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case")]
        pub enum Warning {
            $($(#[$about])* $kind $({ $($(#[$field_about])* $field: $type,)+ })?,)+
        }

        impl Warning {
            /// A short name of the warning's kind, as in `not steady (3 of 8 trials)`.
            pub fn in_short(&self) -> &'static str {
                match self {
                    $(Self::$kind { .. } => $short,)+
                }
            }

            /// Severity among warnings of the same kind: more is worse.
            #[allow(unused_variables, reason = "few fields make a warning worse")]
            pub fn weight(&self) -> f64 {
                match self {
                    $(Self::$kind $({ $($field,)+ })? => $weight,)+
                }
            }
        }

        impl fmt::Display for Warning {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$kind $({ $($field,)+ })? => write!(f, "{}", $text),)+
                }
            }
        }
    };
}

warnings! {
    Emulated = "emulated guest", 0.0,
        "the guest's CPUs were emulated, without KVM: the numbers are those of the emulator, many times slower than \
         a virtual machine. For the cost of virtualization, use a host where /dev/kvm works.";
    /// A worker of the generator was nearly always busy.
    GeneratorSaturated {
        /// Number of the worker, counted from 0.
        worker: usize,
        running: f64,
    } = "generator saturated", *running,
        format!("the load generator was the bottleneck: worker {worker} was busy {:.0} % of the time, so the server \
         may be capable of more. Add --workers, or use a faster load machine.", running * 100.0);
    /// A worker of the generator had to wait for a CPU.
    GeneratorWaited {
        /// Number of the worker, counted from 0.
        worker: usize,
        waiting: f64,
    } = "generator waited for a CPU", *waiting,
        format!("the load generator waited for a CPU: worker {worker} for {:.0} % of the time. Response times \
         include that wait. Give the generator its own cores, or run it on another machine.", waiting * 100.0);
    /// The generator read replies late, and so sent the next statements late.
    GeneratorDelayed {
        /// Share of the transactions' time (0 to 1).
        share: f64,
        mean_ms: f64,
        p99_ms: f64,
    } = "generator read replies late", *share,
        format!("the load generator read replies late: {mean_ms:.2} ms on average (p99 {p99_ms:.2} ms), {:.0} % of \
         the time that transactions took. Response times end when a reply arrives, but the next statement is sent \
         that much later: transactions of several statements take longer, and a closed loop sends fewer. Give the \
         generator its own cores, add --workers, or run it on another machine.", share * 100.0);
    /// Programs outside the trial took CPU time from it.
    OtherPrograms {
        /// Share of all CPUs (0 to 1).
        share: f64,
        /// The busiest programs: `rustc 92 % of one CPU`.
        busiest: String,
    } = "CPU taken by others", *share,
        format!("other programs used {:.0} % of the CPUs: {busiest}. Stop them, or measure when they have finished.",
            share * 100.0);
    /// Other virtual machines took CPU time from this one.
    Stolen {
        /// Share of all CPUs (0 to 1).
        share: f64,
    } = "CPU time stolen", *share,
        format!("the hypervisor gave {:.0} % of the CPU time to other virtual machines (steal). Repeat the trial, or \
         measure on a host that is not shared.", share * 100.0);
    /// The server cannot keep up with the arrival rate.
    Overloaded {
        /// Arrivals that were due but not started at the end.
        backlog_end: u64,
        growth: u64,
    } = "overloaded", *growth as f64,
        format!("the server cannot keep up with the arrival rate: {backlog_end} transactions were due but not \
         started at the end. The backlog grew by {growth}, so response times keep growing. Lower the rate, or add \
         virtual users if the server is idle.");
    Short { measured_s: f64, } = "too short for intervals", -measured_s,
        format!("measured for only {measured_s:.1} s: confidence intervals require at least {MIN_POINTS} s. Measure \
         for 60 s, or repeat the trial (--repeats; in a study, load.repeats).");
    /// Transactions that do not end within a turn are not counted.
    LongForTurns { p95_ms: f64, block_ms: f64, } = "long transactions for turns", p95_ms / block_ms,
        format!("transactions are long for turns of {block_ms:.0} ms: 5 % take {p95_ms:.0} ms or longer, and those \
         that do not end within a turn are not counted. Benchmark one server at a time; in a study, set \
         `compare.block` to at least ten times as long.");
    NoWarmup = "no warm-up", 0.0,
        "no warm-up: the first seconds count, with cold caches and new connections. Use --warmup.";
    Misses {
        share: f64,
        /// Keys are drawn from 1 to this number.
        key_range: u64,
        rows: u64,
    } = "lookups of missing rows", *share, misses_text(100.0 * share, *key_range, *rows);
    /// The load became steady only during the measurement. Both are in seconds after its start.
    WarmupTooShort { steady_from_s: f64, warmup_s: f64, } = "warm-up too short", steady_from_s - warmup_s,
        format!("the warm-up was too short: the measurement started at {warmup_s:.0} s, but steady state only at \
         {steady_from_s:.0} s, and the seconds in between count. Warm up for at least {steady_from_s:.0} s.");
    NeverSteady {
        #[serde(flatten)]
        reason: UnsteadyReason,
    } = "not steady", 0.0,
        format!("not steady: {reason}. Another run may have a different mean. Warm up or measure longer, and look \
         for the cause in the series.");
    /// Users, throughput and response time contradict Little's law.
    LittlesLaw {
        /// Virtual users; open loop: the mean number of transactions served and waiting.
        users: f64,
        /// Throughput times the sum of response and think time.
        accounted: f64,
    } = "Little's law violated", (accounted / users - 1.0).abs(),
        format!("Little's law does not hold: throughput × (response + think time) accounts for {accounted:.1} of \
         {users:.1} users. Some time is not part of any transaction: check errors, reconnects, and the generator's \
         CPU, and do not trust the response times.");
    /// The measurement reached its maximum duration before its target precision. Both are half of an
    /// interval, as a share of the mean (0 to 1).
    Unsure { reached: Option<f64>, asked: f64, }
        = "target precision not reached", reached.unwrap_or(f64::INFINITY), unsure_text(*reached, *asked);
    /// Throughput at the end differs from throughput at the beginning: means of the first and last
    /// third, in transactions per second.
    Unsteady { first_per_s: f64, last_per_s: f64, } = "not steady", (last_per_s / first_per_s).ln().abs(),
        format!("not steady: {first_per_s:.1} transactions/s in the first third, {last_per_s:.1} in the last. Warm \
         up or measure longer, and look for the cause in the series.");
    /// Throughput changed before the first fault, although recovery is measured against it.
    BaselineUnsteady {
        /// Change from the first third of that time to the last one, as a share of the first (-1 or
        /// more).
        share: f64,
    } = "not steady before the fault", share.abs(),
        format!("throughput {} by {:.0} % before the first fault, and recovery is measured against that time. Use a \
         longer load.warmup, or a later fault.", rose_or_fell(*share), share.abs() * 100.0);
    /// The level of throughput changed during the measurement.
    LevelChanged {
        /// In order of time; never empty.
        changes: Vec<LevelChange>,
    } = "level changed", changes.len() as f64,
        format!("throughput changed its level {}; the mean covers all levels. Check what the server and the host did \
         at that time: a full log or cache, a checkpoint, another program.", levels_text(changes));
    Stalled { seconds: u64, } = "stalls", *seconds as f64,
        format!("{seconds} {} had no completed transactions. Look for lock waits, checkpoints or a full disk on the \
         server at those times, which the series shows.", if *seconds == 1 { "second" } else { "seconds" });
    /// Transactions still running at the end had taken longer than any other.
    Unfinished { count: u64, oldest_ms: f64, } = "long transactions unfinished", *count as f64,
        format!("{count} transactions were still running at the end, the oldest for {oldest_ms:.0} ms, longer than \
         any that ended: the true tail is longer than measured. Measure longer.");
    Cancelled { count: u64, } = "transactions cancelled", *count as f64,
        format!("{count} transactions did not complete after the measurement and were cancelled; the percentiles do \
         not include them. Look for locks held on the server.");
    Restarts {
        /// Share of all attempts (0 to 1).
        share: f64,
    } = "many restarts", *share,
        format!("{:.1} % of the attempts failed with a deadlock or lock timeout and were restarted. Use fewer virtual \
         users or more rows, unless contention is what you measure.", share * 100.0);
    /// An agent of the load died or fell silent.
    AgentMissing {
        label: String,
        /// On the trial's clock.
        since_s: f64,
    } = "agent missing", -since_s,
        format!("the load of agent {label} is missing from {since_s:.1} s on: the agent died, was stopped, or lost its \
         connection. The others went on. Look at its output, and run the trial again.");
    /// An agent rather than the server may have limited its part of the load.
    AgentBound {
        label: String,
        /// Share of time in which its busiest worker ran (0 to 1).
        busiest: f64,
        /// Share of the transactions' time in which replies were unread (0 to 1).
        delayed: f64,
    } = "agent was the bottleneck", busiest.max(*delayed),
        format!("agent {label} may have been the bottleneck: its busiest worker was busy {:.0} % of the time, and \
         replies waited for it in {:.0} % of the transactions' time. Use more agents, or a faster machine for this \
         one.", busiest * 100.0, delayed * 100.0);
    /// The servers' logs reached their maximum size before a checkpoint was due.
    ForcedCheckpoints { count: u64, } = "forced checkpoints", *count as f64,
        format!("{count} checkpoints were forced before they were due, usually because the log reached its maximum \
         size; after each, pages are logged in full again. Allow more log, or note that throughput depends on its \
         size.");
    Reconnects { count: u64, } = "connections lost", *count as f64,
        format!("{count} connections were lost and reopened. For the cause, see the server's log and its connection \
         limits.");
    /// A foreign program took part in a private cluster, was logged in to it, or tried to.
    Strangers {
        /// For example `server 1: a member at 127.0.0.1:4567`, or a line of a server's log.
        seen: Vec<String>,
    } = "strangers at a private cluster", seen.len() as f64,
        format!("somebody else took part in a private cluster, was logged in to it, or tried to: {}. Find out which \
         process that was, and measure on a host that nobody else uses.", strangers_text(seen));
    /// Faults were healed before the cluster can have noticed them.
    HealedEarly {
        /// Seconds after which the first of them was healed.
        healed_s: f64,
        /// Seconds that noticing may take.
        noticed_s: f64,
        /// What notices it, with the timeouts.
        detector: String,
    } = "faults healed early", noticed_s - healed_s,
        format!("a fault was healed after {healed_s} s, but noticing it may take {noticed_s} s ({detector}), so there \
         may have been no failover. To measure one, use a longer `heal`.");
    /// The servers did not write out all that they had deferred.
    NotFlushed { reason: String, } = "not flushed", 0.0,
        format!("the servers did not flush their deferred writes, so throughput with the flush is unknown: {reason}.");
    LedgerUnchecked { reason: String, } = "ledger not checked", 0.0,
        format!("the ledger proves nothing about acknowledged commits: {reason}. Let the trial end with a member that \
         can be read, long enough after a fault for transfers to go on.");
    /// The ledger's history is incomplete, because it could no longer be written.
    LedgerStopped {
        /// When recording stopped, in seconds on the trial's clock.
        at_s: f64,
    } = "ledger stopped early", 0.0,
        format!("the ledger stopped at {at_s:.1} s because its history could not be written: it proves nothing about \
         later commits. Free disk space where results are stored.");
}

/// The first four of a list, and how many more there are.
fn first_of(all: &[String], between: &str) -> (String, usize) {
    const MOST: usize = 4;
    let first = &all[..all.len().min(MOST)];
    (first.join(between), all.len() - first.len())
}

fn strangers_text(seen: &[String]) -> String {
    match first_of(seen, "; ") {
        (first, 0) => first,
        (first, more) => format!("{first}; and {more} more"),
    }
}

fn levels_text(changes: &[LevelChange]) -> String {
    let text = |change: &LevelChange| {
        let LevelChange {
            at_s,
            before_per_s,
            after_per_s,
        } = change;
        format!("at {at_s:.0} s from {before_per_s:.0} to {after_per_s:.0}")
    };
    let changes: Vec<String> = changes.iter().map(text).collect();
    let (first, more) = first_of(&changes, ", ");
    match more {
        0 => format!("{first} transactions/s"),
        more => format!("{first} transactions/s, and {more} more times"),
    }
}

fn unsure_text(reached: Option<f64>, asked: f64) -> String {
    let reached = reached.map_or("has no confidence interval".to_owned(), |share| {
        format!("is known to ±{:.2} %", share * 100.0)
    });
    format!(
        "target precision not reached: throughput {reached}, the target is ±{:.2} %. Measure longer, \
         or look for the cause in the series.",
        asked * 100.0
    )
}

fn misses_text(percent: f64, range: u64, rows: u64) -> String {
    match range > rows {
        true => format!(
            "{percent:.1} % of the lookups found no row: keys are drawn from 1 to {range}, but a table \
             has {rows} rows. A missing row costs less than an existing one: draw keys only from \
             existing rows, or prepare more."
        ),
        false => format!(
            "{percent:.1} % of the lookups found no row, though keys are drawn from {rows} rows: the \
             tables have fewer rows than they should, or concurrent transactions had deleted the rows. \
             Unless the workload deletes rows, prepare the data again."
        ),
    }
}
