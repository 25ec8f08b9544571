//! Result directories: written while the study runs, so that a crash keeps what was
//! measured, and read back line by line.
//!
//! ```text
//! results/20240117T093000Z-scale-up/
//!   study.toml                          the study as it ran
//!   environment.json                    where it ran
//!   trials/001-threads=1/
//!     series.jsonl                      one line a second: rates, times, shares
//!     intervals.jsonl                   one line a second: histograms (HdrHistogram V2)
//!     monitors.jsonl                    one line a second: metrics of the monitors
//!     servers/1/my.cnf, error.log       a private server's settings and log
//!     servers/1/series.jsonl …          for each of several servers
//!     trial.json                        the summary, at the end
//!   result.json                         all trials; replaced after each
//!   report.html, report.md, results.csv, tables.csv, searches.csv,
//!   scaling.csv
//! ```
//!
//! A trial with a `trial.json` has ended; one without was interrupted. A resumed study runs
//! interrupted and failed trials again.
//!
//! Files ending in `.jsonl` only grow; all others are replaced by renaming, so they are
//! complete or absent.

mod atomic;
mod create;
mod error;
mod interval;
mod kept;
mod read;
mod thin;
mod trial;

pub use create::{ResultDir, write_files};
pub use error::StoreError;
pub use interval::{Histogram, IntervalRecord};
pub use kept::{Kept, read_kept};
pub use read::{
    read_intervals, read_monitors, read_monitors_within, read_result, read_series,
    read_series_within, read_study, read_trial, trial_dirs, trial_number,
};
pub use trial::{InstanceWriter, TrialWriter};

/// Names of the files in a result directory.
pub mod names {
    /// The study as it ran.
    pub const STUDY: &str = "study.toml";
    /// Where it ran.
    pub const ENVIRONMENT: &str = "environment.json";
    /// Folder of the trials.
    pub const TRIALS: &str = "trials";
    /// One line a second: rates, times, shares.
    pub const SERIES: &str = "series.jsonl";
    /// One line a second: histograms.
    pub const INTERVALS: &str = "intervals.jsonl";
    /// One line a second: metrics of the monitors.
    pub const MONITORS: &str = "monitors.jsonl";
    /// Folder of a trial's servers.
    pub const SERVERS: &str = "servers";
    /// Summary of one trial.
    pub const TRIAL: &str = "trial.json";
    /// All trials.
    pub const RESULT: &str = "result.json";
    /// The report.
    pub const REPORT: &str = "report.html";
    /// The report as Markdown.
    pub const MARKDOWN: &str = "report.md";
    /// The study's tables, one line per cell.
    pub const TABLES: &str = "tables.csv";
    /// The steps of searches for the highest rate.
    pub const SEARCHES: &str = "searches.csv";
    /// Scalability: the measured points, and the laws that fit.
    pub const SCALING: &str = "scaling.csv";
    /// Whether the thresholds were met, for CI systems.
    pub const JUNIT: &str = "junit.xml";
    /// All numbers, one line per trial.
    pub const CSV: &str = "results.csv";
}
