//! The report at the end of a run, and at each checkpoint.

use super::{Counts, Layout, Report};

/// What has happened since the start, or since the last checkpoint.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Totals {
    /// Since the start, without the warm-up.
    pub time_s: f64,
    /// Since the last checkpoint, like everything below.
    pub seconds: f64,
    pub counts: Counts,
    pub latency: Summary,
    /// Each thread's events, and the seconds that it spent in them.
    pub threads: Vec<(u64, f64)>,
    /// Transactions that a forced shutdown has cut off.
    pub unfinished: u64,
}

/// The latencies of events.
#[derive(Debug, Default, Clone, Copy, PartialEq)]
pub struct Summary {
    pub min_ms: f64,
    pub avg_ms: f64,
    pub max_ms: f64,
    pub percentile_ms: f64,
    pub sum_ms: f64,
}

/// The mean, and the population's standard deviation.
fn spread(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares = values.map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / count).sqrt())
}

impl Totals {
    fn number(&self, name: &str) -> Option<f64> {
        let latency = &self.latency;
        let events = || spread(self.threads.iter().map(|(events, _)| *events as f64));
        let time_s = || spread(self.threads.iter().map(|(_, time_s)| *time_s));
        Some(match name {
            "time_s" => self.time_s,
            "seconds" => self.seconds,
            "unfinished" => self.unfinished as f64,
            "min_ms" => latency.min_ms,
            "avg_ms" => latency.avg_ms,
            "max_ms" => latency.max_ms,
            "percentile_ms" => latency.percentile_ms,
            "sum_ms" => latency.sum_ms,
            "sum_s" => latency.sum_ms / 1e3,
            "events_avg" => events().0,
            "events_stddev" => events().1,
            "time_avg_s" => time_s().0,
            "time_stddev_s" => time_s().1,
            _ => return self.counts.number(name),
        })
    }
}

impl Report {
    /// The final report.
    pub fn cumulative(&self, totals: &Totals) -> String {
        let template = match self.layout {
            Layout::V04 => include_str!("text/report-0.4.txt"),
            Layout::V05 => include_str!("text/report-0.5.txt"),
            Layout::V10 => include_str!("text/report-1.0.txt"),
            Layout::Master => include_str!("text/report-1.1.txt"),
        };
        self.fill(template, |name| totals.number(name))
    }

    /// The report at a checkpoint.
    pub fn checkpoint(&self, totals: &Totals) -> String {
        let at_s = totals.time_s;
        let stamp = if self.layout.is_before_1_0() {
            format!("[{at_s:4.0}s]")
        } else {
            format!("[ {at_s:.0}s ]")
        };
        format!("{stamp} Checkpoint report:\n{}", self.cumulative(totals))
    }
}
