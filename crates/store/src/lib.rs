//! A result directory: written as it happens, so that a crash keeps what was
//! measured, and read back by line.
//!
//! ```text
//! results/20240117T093000Z-scale-up/
//!   study.toml                          the study as run
//!   environment.json                    where it ran
//!   trials/001-threads=1/
//!     series.jsonl                      one line a second: rates, times, shares
//!     intervals.jsonl                   one line a second: histograms (HdrHistogram V2)
//!     monitors.jsonl                    one line a second: what the monitors saw
//!     servers/1/my.cnf, error.log       what a private server was told, and said
//!     servers/1/series.jsonl …          of one of several servers
//!     trial.json                        the summary, at the end
//!   result.json                         all trials; written anew after each
//!   report.html, report.md, results.csv, tables.csv, searches.csv,
//!   scaling.csv
//! ```
//!
//! A trial with its `trial.json` was ended. One without was cut off; a resumed study
//! runs it again, and so one that failed or was interrupted.
//!
//! The files ending in `.jsonl` only grow; all others are written beside their
//! place and moved there, so they are whole or absent.

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
    /// The study as run.
    pub const STUDY: &str = "study.toml";
    /// Where it ran.
    pub const ENVIRONMENT: &str = "environment.json";
    /// Folder of the trials.
    pub const TRIALS: &str = "trials";
    /// One line a second: rates, times, shares.
    pub const SERIES: &str = "series.jsonl";
    /// One line a second: histograms.
    pub const INTERVALS: &str = "intervals.jsonl";
    /// One line a second: what the monitors saw.
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
    /// The study's tables, a line for each cell.
    pub const TABLES: &str = "tables.csv";
    /// The steps of searches for the highest rate.
    pub const SEARCHES: &str = "searches.csv";
    /// How far it scales: what was measured, and the laws that fit.
    pub const SCALING: &str = "scaling.csv";
    /// Whether the thresholds were kept, for CI systems.
    pub const JUNIT: &str = "junit.xml";
    /// All numbers, a line for each trial.
    pub const CSV: &str = "results.csv";
}
