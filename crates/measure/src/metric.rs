//! Metrics: what the monitors sampled, each second and over the measure phase.
//!
//! A metric has a dotted name, with an object in brackets if there may be several: `cpu.user`,
//! `cpu[0].user`, `disk[vda].read_iops`, `server[1].cpu`. What a host or server does not report is
//! absent, never 0.

mod table;

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::series::mean;
use crate::words::words;

pub use table::METRICS;

/// All metrics of one interval, as a line of `monitors.jsonl`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MonitorPoint {
    /// Start of the interval on the load's clock, in seconds.
    pub t_s: f64,
    pub seconds: f64,
    pub values: BTreeMap<String, f64>,
}

impl MonitorPoint {
    /// Merges the next interval into this one. Metrics are weighted by the lengths of the
    /// intervals.
    pub fn absorb(&mut self, next: &Self) {
        let weights = [self.seconds, next.seconds];
        for (name, value) in &next.values {
            match self.values.get_mut(name) {
                Some(mine) => {
                    *mine = mean([Some(*mine), Some(*value)], weights).unwrap_or(*value);
                }
                None => drop(self.values.insert(name.clone(), *value)),
            }
        }
        self.seconds += next.seconds;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// Over the whole phase: for counters, their growth divided by its length; for shares, the
    /// quotient of the growths; for levels, the mean of the samples. If that is unknown because a
    /// server was away, the mean of the known seconds.
    pub mean: f64,
    pub min: f64,
    pub max: f64,
}

pub type Metrics = BTreeMap<String, MetricSummary>;

/// A metric: a row of [`METRICS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Name without brackets, for example `disk.read_iops`.
    pub name: &'static str,
    pub brackets: Brackets,
    /// For example `%`, `MB/s`; empty for a plain number.
    pub unit: &'static str,
    pub reading: Reading,
    pub group: Group,
    /// Short enough for the head of a table.
    pub heading: &'static str,
    /// A sentence.
    pub meaning: &'static str,
}

/// Whether a metric's name has brackets, and what they contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Brackets {
    /// There is only one: `memory.dirty_bytes`.
    Never,
    /// One for each object: `net[eth0].rx_mb_per_s`.
    Always(&'static str),
    /// One for each object, and one for all: `cpu[0].user` and `cpu.user`.
    Optional(&'static str),
}

/// How a metric is computed from two samples.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reading {
    /// From the growth of counters.
    Growth,
    /// The value at the later sample.
    Level,
}

words! {
    /// Metrics that share a figure or a table, in the order of the table; the words are their title.
    Group {
        Cpu = "CPU",
        Processes = "Servers and generator",
        Disk = "Disks",
        Network = "Network",
        Pressure = "Pressure",
        Memory = "Memory",
        Cache = "Server cache",
        ServerIo = "Server IO",
        Log = "Server log",
        Locks = "Row locks",
        Work = "Transactions and rows",
        Vacuum = "Vacuum",
        Replication = "Replication",
        Monitor = "Monitors",
    }
}

impl Group {
    /// Whether servers count these metrics themselves.
    pub fn is_of_server_counters(self) -> bool {
        (Self::Cache..=Self::Replication).contains(&self)
    }
}

impl Metric {
    /// The row of a concrete name such as `disk[vda].read_iops`.
    pub fn find(name: &str) -> Option<&'static Self> {
        let (plain, of) = split(name);
        let metric = METRICS.iter().find(|metric| metric.name == plain)?;
        let fits = match metric.brackets {
            Brackets::Never => of.is_none(),
            Brackets::Always(_) => of.is_some_and(|of| !of.is_empty()),
            Brackets::Optional(_) => of != Some(""),
        };
        fits.then_some(metric)
    }

    /// All forms of the name, with capitals in the brackets: `cpu.user` and `cpu[CORE].user`.
    pub fn patterns(&self) -> Vec<String> {
        let each = |of: &str| bracketed(self.name, &of.to_uppercase());
        match self.brackets {
            Brackets::Never => vec![self.name.to_owned()],
            Brackets::Always(of) => vec![each(of)],
            Brackets::Optional(of) => vec![self.name.to_owned(), each(of)],
        }
    }
}

/// `disk.util` and `vda` as `disk[vda].util`.
pub fn bracketed(name: &str, of: &str) -> String {
    match name.split_once('.') {
        Some((thing, rest)) => format!("{thing}[{of}].{rest}"),
        None => format!("{name}[{of}]"),
    }
}

/// Splits `disk[vda].util` into `disk.util` and `vda`. The part in brackets may contain dots
/// (`net[eth0.100].rx_mb_per_s`).
pub fn split(name: &str) -> (Cow<'_, str>, Option<&str>) {
    let parts = name
        .split_once('[')
        .and_then(|(thing, rest)| Some((thing, rest.rsplit_once(']')?)));
    match parts {
        Some((thing, (of, rest))) => (Cow::Owned(format!("{thing}{rest}")), Some(of)),
        None => (Cow::Borrowed(name), None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_concrete_name_is_found_and_a_wrong_one_is_not() {
        let found = |name| Metric::find(name).map(|metric| metric.name);
        assert_eq!(found("disk[vda].read_iops"), Some("disk.read_iops"));
        assert_eq!(found("disk.read_iops"), Some("disk.read_iops"));
        assert_eq!(found("cpu.user"), Some("cpu.user"));
        assert_eq!(found("cpu[11].user"), Some("cpu.user"));
        assert_eq!(found("net[eth0.100].rx_mb_per_s"), Some("net.rx_mb_per_s"));
        assert_eq!(
            found("server[2].cache.hit_pct"),
            Some("server.cache.hit_pct")
        );
        for wrong in [
            "",
            "[",
            "]",
            "cpu",
            "cpu[].user",
            "cpu.usr",
            "net.rx_mb_per_s",
            "memory[0].dirty_bytes",
            "disk[vda.read_iops",
        ] {
            assert_eq!(found(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn names_are_unique_and_each_is_found_by_its_own_patterns() {
        let mut names: Vec<_> = METRICS.iter().map(|metric| metric.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), METRICS.len());
        for metric in METRICS {
            for pattern in metric.patterns() {
                assert_eq!(Metric::find(&pattern), Some(metric), "{pattern}");
            }
            assert!(metric.meaning.ends_with('.'), "{}", metric.name);
        }
    }

    #[test]
    fn the_table_is_in_the_order_of_its_groups() {
        assert!(METRICS.is_sorted_by_key(|metric| metric.group));
        for group in Group::ALL {
            assert!(METRICS.iter().any(|metric| metric.group == group));
        }
    }
}
