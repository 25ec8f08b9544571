//! Intermediate reports.

use super::template::fill;
use super::{Layout, Report};

/// What closes the list of [`json`].
pub const JSON_END: &str = "\n]\n";

/// What has happened in some time.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Counts {
    /// Transactions, in SQL.
    pub events: u64,
    pub reads: u64,
    pub writes: u64,
    /// Other statements; for files, fsyncs.
    pub other: u64,
    /// Ignored errors; in 0.4, deadlocks.
    pub errors: u64,
    pub reconnects: u64,
    /// Of files only.
    pub bytes_read: u64,
    /// Of files only.
    pub bytes_written: u64,
}

/// What has happened since the last intermediate report.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Interval {
    /// When it ended, since the start.
    pub at_s: f64,
    /// Its length.
    pub seconds: f64,
    pub threads: u32,
    pub counts: Counts,
    pub percentile_ms: f64,
    /// With `--rate`: how many events wait for a thread, and how many are running.
    pub queue: Option<(u64, u64)>,
}

impl Counts {
    pub(super) fn number(&self, name: &str) -> Option<f64> {
        let count = match name {
            "events" => self.events,
            "reads" => self.reads,
            "writes" => self.writes,
            "other" => self.other,
            "requests" => self.reads + self.writes,
            "queries" => self.reads + self.writes + self.other,
            "errors" => self.errors,
            "reconnects" => self.reconnects,
            "read_bytes" => self.bytes_read,
            "written_bytes" => self.bytes_written,
            "total_bytes" => self.bytes_read + self.bytes_written,
            _ => return None,
        };
        Some(count as f64)
    }
}

impl Interval {
    fn number(&self, name: &str) -> Option<f64> {
        match name {
            "at_s" => Some(self.at_s),
            "seconds" => Some(self.seconds),
            "threads" => Some(self.threads.into()),
            "percentile_ms" => Some(self.percentile_ms),
            "queue" => self.queue.map(|(length, _)| length as f64),
            "concurrency" => self.queue.map(|(_, concurrency)| concurrency as f64),
            _ => self.counts.number(name),
        }
    }

    fn fill(&self, template: &str) -> String {
        fill(template, &|name| self.number(name).map(|number| number.to_string()))
    }
}

impl Report {
    /// The line of an interval, and that of its queue.
    pub fn interval(&self, interval: &Interval) -> String {
        let template = match self.layout {
            Layout::V04 => include_str!("text/interval-0.4.txt"),
            Layout::V05 => include_str!("text/interval-0.5.txt"),
            Layout::V10 | Layout::Master => include_str!("text/interval-1.0.txt"),
        };
        self.fill(template, |name| interval.number(name))
    }
}

/// The line of `sysbench.report_csv`.
pub fn csv(interval: &Interval) -> String {
    interval.fill(include_str!("text/interval.csv"))
}

/// The object of `sysbench.report_json`. The list ends with [`JSON_END`].
pub fn json(interval: &Interval, is_first: bool) -> String {
    let before = if is_first { "[" } else { "," };
    let object = interval.fill(include_str!("text/interval.json"));
    format!("{before}\n{}", object.trim_end())
}
