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
//!     trial.json                        the summary, at the end
//!   result.json                         all trials; written anew after each
//!   report.html
//! ```
//!
//! The files ending in `.jsonl` only grow; all others are written beside their
//! place and moved there, so they are whole or absent.

mod atomic;
mod create;
mod environment;
mod error;
mod interval;
mod read;
mod trial;

pub use create::ResultDir;
pub use environment::fingerprint;
pub use error::StoreError;
pub use interval::{Histogram, IntervalRecord};
pub use read::{read_intervals, read_result, read_series, trial_dirs};
pub use trial::TrialWriter;

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
    /// Summary of one trial.
    pub const TRIAL: &str = "trial.json";
    /// All trials.
    pub const RESULT: &str = "result.json";
    /// The report.
    pub const REPORT: &str = "report.html";
}
