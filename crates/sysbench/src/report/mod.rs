//! What sysbench prints, in each of its versions. Pure: strings only.
//!
//! Programs parse this text, so labels, their order, and the columns of numbers are exact: the
//! files of `text/` are templates of it. A function returns whole lines, or nothing where that
//! version prints nothing.

mod histogram;
mod log;
mod template;

use std::collections::BTreeMap;

pub use histogram::histogram;
pub use log::{Level, Log};
pub(crate) use template::prefixed;

use crate::options::{Dialect, Kind, Values};

/// Numbers by name, as the hooks of scripts get them; times are in seconds. Except `time_total`,
/// they are those since the last report of the same kind.
///
/// In every report: `time_total` (without the warm-up), `time_interval`, `events`, `reads`,
/// `writes`, `other` (for files, fsyncs), `errors` (in 0.4, deadlocks), `reconnects`,
/// `latency_pct`, and for files `bytes_read` and `bytes_written`. In an interval:
/// `threads_running`, and with `--rate` `queue_length` and `concurrency`. In a cumulative report:
/// `latency_min`, `latency_max`, `latency_sum`, what [`fairness`] returns, `unfinished`
/// (transactions that a forced shutdown cut off), and at a checkpoint `checkpoint`, which is 1.
pub type Stat<'a> = [(&'a str, f64)];

/// What the texts of a run have in common. Without `Debug`, because of the password.
pub struct Report {
    pub dialect: Dialect,
    pub values: Values,
    /// What takes the place of options, or is none: `test` is `cpu`, `memory`, `threads`, `mutex`,
    /// `fileio`, `sql` for what uses a database, or `none` for another script. `report-checkpoints`
    /// is `10, 20`. `shutdown` is the second in which a shutdown is forced. `open-flags` is what
    /// [`FileSet::open_flags`](crate::native::FileSet::open_flags) returns.
    pub facts: BTreeMap<&'static str, String>,
}

impl Report {
    /// The options of a run, and the test's own lines.
    pub fn head(&self) -> String {
        self.fill(include_str!("text/head.txt"), &[])
    }

    /// What is printed once all threads are ready.
    pub fn started(&self) -> String {
        self.fill(include_str!("text/started.txt"), &[])
    }

    /// An intermediate report.
    pub fn interval(&self, stat: &Stat<'_>) -> String {
        self.fill(include_str!("text/interval.txt"), stat)
    }

    /// The report at a checkpoint or at the end.
    pub fn cumulative(&self, stat: &Stat<'_>) -> String {
        self.fill(include_str!("text/report.txt"), stat)
    }

    fn fill(&self, template: &str, stat: &Stat<'_>) -> String {
        template::fill(template, self.dialect, &|name| {
            let number = stat.iter().find(|(known, _)| *known == name);
            let number = number.map(|(_, number)| number.to_string());
            number.or_else(|| self.text(name))
        })
    }

    fn text(&self, name: &str) -> Option<String> {
        if let Some(fact) = self.facts.get(name) {
            return Some(fact.clone());
        }
        match self.values.kind(name)? {
            Kind::Size => Some(self.values.size(name).to_string()),
            _ => Some(self.values.text(name).to_owned()),
        }
    }
}

impl Dialect {
    /// The program's first lines. `lua` is what runs scripts, such as `system LuaJIT 2.1`.
    pub fn header(self, lua: &str) -> String {
        let version = self.version();
        match self.is_old() {
            true => format!("sysbench {version}:  multi-threaded system evaluation benchmark\n\n"),
            false => format!("sysbench {version} (using {lua})\n\n"),
        }
    }

    /// What is printed before threads are created, for a run or a parallel command.
    pub fn initializing(self) -> &'static str {
        match self {
            Self::V04 => "",
            _ => "Initializing worker threads...\n\n",
        }
    }
}

/// How evenly threads worked, from the events of each and the seconds that it spent in them: means
/// and standard deviations.
pub fn fairness(threads: &[(u64, f64)]) -> [(&'static str, f64); 4] {
    let (events_avg, events_stddev) = spread(threads.iter().map(|(events, _)| *events as f64));
    let (time_avg, time_stddev) = spread(threads.iter().map(|(_, time_s)| *time_s));
    [
        ("events_avg", events_avg),
        ("events_stddev", events_stddev),
        ("time_avg", time_avg),
        ("time_stddev", time_stddev),
    ]
}

/// The mean, and the population's standard deviation.
fn spread(values: impl ExactSizeIterator<Item = f64> + Clone) -> (f64, f64) {
    let count = values.len().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    let squares = values.map(|value| (value - mean).powi(2));
    (mean, (squares.sum::<f64>() / count).sqrt())
}

#[cfg(test)]
mod head_tests;
#[cfg(test)]
mod parser_tests;
#[cfg(test)]
mod tests;
