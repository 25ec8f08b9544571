//! What a server holds, and what virtual users do to it.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::duration::text;
use crate::{Fleet, Mix, Phases, Script, Spanned, key};

/// What each server holds before the trial: the keys of `[data]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Data {
    pub tables: u32,
    pub rows: u64,
    pub seed: u64,
    pub auto_inc: bool,
    pub create_secondary: bool,
    pub secondary: bool,
    /// The caller knows which names are safe. `None`: the database's transactional one.
    pub storage_engine: Option<String>,
}

/// What one transaction consists of: the keys of `[transaction]`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transaction {
    pub point_selects: u32,
    pub range_selects: bool,
    pub simple_ranges: u32,
    pub sum_ranges: u32,
    pub order_ranges: u32,
    pub distinct_ranges: u32,
    pub range_size: u64,
    pub index_updates: u32,
    pub non_index_updates: u32,
    pub delete_inserts: u32,
    pub skip_trx: bool,
    pub random_points: u32,
    pub number_of_ranges: u32,
    pub delta: u64,
}

/// Implements `Default` for a section of a study from the defaults of the keys named like its fields.
macro_rules! defaults {
    ($type:ident, $section:literal, { $($field:ident)+ } $($rest:tt)*) => {
        impl Default for $type {
            fn default() -> Self {
                Self {
                    $($field: key::default(concat!($section, ".", stringify!($field))),)+
                    $($rest)*
                }
            }
        }
    };
}

defaults!(Data, "data", {
    tables rows seed auto_inc create_secondary secondary
} storage_engine: None);
defaults!(Transaction, "transaction", {
    point_selects range_selects simple_ranges sum_ranges order_ranges distinct_ranges range_size
    index_updates non_index_updates delete_inserts skip_trx random_points number_of_ranges delta
});

/// What the virtual users of each server do: the keys of `[load]`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// Name of the workload, or a [`Mix`]; the caller knows which exist. Of scripts, their names
    /// with weights.
    pub workload: Spanned<String>,
    /// The scripts that virtual users run. One in Lua comes before its modules; others are all of
    /// pgbench's language.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<Script>,
    /// Options of scripts, by name.
    #[serde(default)]
    pub options: BTreeMap<String, String>,
    /// Variables of pgbench's scripts, by name.
    #[serde(default)]
    pub variables: BTreeMap<String, String>,
    /// Name of the distribution of rows; the caller knows which exist.
    pub distribution: Spanned<String>,
    /// Highest key that transactions choose; `None`: the number of rows.
    pub key_range: Option<u64>,
    pub protocol: StatementProtocol,
    pub reply_time: ReplyTime,
    pub threads: u32,
    /// Whether every table and index is read once before the warm-up.
    pub preload: bool,
    #[serde(with = "text")]
    pub warmup: Duration,
    /// Length of the measurement; with `until` its minimum, with `find_max` that of a
    /// step, with phases that of all of them. Zero: no limit; `events` ends it.
    #[serde(with = "text")]
    pub time: Duration,
    /// [`Phases`] as text, with their repetitions. They decide `time`, and `rate` or `threads`.
    pub phase: Option<String>,
    pub until: Option<Until>,
    /// The search for the highest rate, in place of a single trial.
    pub find_max: Option<FindMax>,
    /// Transactions after which the measurement ends early.
    pub events: Option<u64>,
    /// Mean arrivals per second for each server, over all phases; `None`: a closed loop, in which a
    /// virtual user starts its next transaction when the last one has ended.
    pub rate: Option<f64>,
    pub arrivals: Arrivals,
    /// Mean pause of a virtual user after each transaction.
    #[serde(with = "text")]
    pub think: Duration,
    pub think_distribution: ThinkDistribution,
    /// The machines that the load comes from; `None`: this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
}

impl Load {
    /// The longest that the measurement can take; `None`: until its `events` are done.
    pub fn longest(&self) -> Option<Duration> {
        let longest = self.until.map_or(self.time, |until| until.max);
        (!longest.is_zero()).then_some(longest)
    }

    /// The workloads, of which there may be only one.
    pub fn mix(&self) -> Option<Mix> {
        self.workload.parse().ok()
    }

    /// The digests of all scripts.
    pub fn digests(&self) -> String {
        self.scripts.iter().map(|one| one.digest.as_str()).collect()
    }

    pub fn phases(&self) -> Option<Phases> {
        self.phase.as_ref()?.parse().ok()
    }

    pub fn think(&self) -> Think {
        Think {
            mean: self.think,
            distribution: self.think_distribution,
        }
    }

    pub fn pace(&self) -> Pace {
        let arrivals = self.arrivals;
        let open = |per_s| Pace::Open { per_s, arrivals };
        self.rate.map_or(Pace::Closed, open)
    }
}

/// Ends a measurement once its result is precise enough.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Until {
    /// Half width of the confidence interval of the mean throughput, as a share of the mean.
    pub ci: f64,
    #[serde(with = "text")]
    pub max: Duration,
}

/// A search for the highest rate at which response times stay within a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindMax {
    pub of: Limited,
    #[serde(with = "text")]
    pub limit: Duration,
}

choice! {
    /// A statistic of the response times.
    Limited {
        P99 = "p99",
        P95 = "p95",
        Mean = "mean",
    }
}

impl Limited {
    /// Every statistic, with the key that limits it.
    pub const KEYS: [(&'static str, Self); 3] = [
        ("load.find_max.p99", Self::P99),
        ("load.find_max.p95", Self::P95),
        ("load.find_max.mean", Self::Mean),
    ];
}

choice! {
    /// How statements are sent.
    StatementProtocol {
        Prepared = "prepared",
        Text = "text",
    }
}

choice! {
    /// Whether a statement reads, writes, or does neither, as sysbench counts them.
    StatementClass {
        /// Reads rows.
        Read = "read",
        /// Changes rows.
        Write = "write",
        /// Neither: BEGIN, COMMIT.
        Other = "other",
    }
}

choice! {
    /// When a reply counts as received.
    ReplyTime {
        Kernel = "kernel",
        Program = "program",
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// Closed loop: when the virtual user's previous one ends.
    Closed,
    /// Open loop: when they arrive, whether or not a virtual user is free.
    Open {
        /// Mean arrivals per second, for all virtual users of a server.
        per_s: f64,
        arrivals: Arrivals,
    },
}

/// Shows `closed loop` or `200/s poisson`.
impl fmt::Display for Pace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("closed loop"),
            Self::Open { per_s, arrivals } => write!(f, "{per_s}/s {arrivals}"),
        }
    }
}

/// How long a virtual user pauses after each transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Think {
    pub mean: Duration,
    pub distribution: ThinkDistribution,
}

impl Think {
    /// Draws a pause; `unit` returns uniform numbers in [0, 1).
    pub fn sample(&self, unit: impl FnOnce() -> f64) -> Duration {
        let times = match self.distribution {
            ThinkDistribution::Constant => return self.mean,
            ThinkDistribution::Uniform => 2.0 * unit(),
            // The inverse of the cumulative distribution; at most 37 times the mean.
            ThinkDistribution::Exponential => -(1.0 - unit()).ln(),
        };
        self.mean.mul_f64(times)
    }
}

choice! {
    /// How pauses of a virtual user are distributed.
    ThinkDistribution {
        Constant = "constant",
        Uniform = "uniform",
        Exponential = "exponential",
    }
}

choice! {
    /// How arrivals of an open loop are spaced.
    Arrivals {
        Poisson = "poisson",
        Constant = "constant",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of samples at evenly spaced quantiles.
    fn mean_ms(distribution: ThinkDistribution) -> f64 {
        let mean = Duration::from_millis(50);
        let think = Think { mean, distribution };
        let quantiles = (0..10_000).map(|n| (f64::from(n) + 0.5) / 10_000.0);
        let samples = quantiles.map(|quantile| think.sample(|| quantile).as_secs_f64());
        samples.sum::<f64>() / 10.0
    }

    #[test]
    fn every_distribution_of_think_times_has_the_mean() {
        for distribution in [
            ThinkDistribution::Constant,
            ThinkDistribution::Uniform,
            ThinkDistribution::Exponential,
        ] {
            let mean_ms = mean_ms(distribution);
            assert!((mean_ms - 50.0).abs() < 0.01, "{distribution}: {mean_ms}");
        }
    }

    #[test]
    fn think_times_at_known_quantiles() {
        let of = |distribution, quantile: f64| {
            let mean = Duration::from_secs(1);
            let sample = Think { mean, distribution }.sample(|| quantile);
            (sample.as_secs_f64() * 1e3).round()
        };
        assert_eq!(of(ThinkDistribution::Uniform, 0.0), 0.0);
        assert_eq!(of(ThinkDistribution::Uniform, 0.75), 1500.0);
        assert_eq!(of(ThinkDistribution::Exponential, 0.0), 0.0);
        assert_eq!(of(ThinkDistribution::Exponential, 0.5), 693.0);
        assert_eq!(of(ThinkDistribution::Exponential, 0.99), 4605.0);
        // The largest number below 1 that is drawn.
        assert!(of(ThinkDistribution::Exponential, 1.0 - f64::EPSILON / 2.0) < 37_000.0);
    }
}
