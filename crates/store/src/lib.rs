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
//!     faults.jsonl                      one line a fault: transactions every 10 ms around it
//!     ledger-1.jsonl …                  one line an event: an instance's ledger
//!     servers/1/my.cnf, error.log       a private server's settings and log
//!     servers/1/series.jsonl …          for each of several servers
//!     trial.json                        the summary, at the end
//!   result.json                         all trials; replaced after each
//!   report.html, report.md, results.csv, tables.csv, searches.csv,
//!   faults.csv, scaling.csv, workloads.csv, phases.csv, junit.xml
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
pub mod names;
mod read;
mod thin;
mod trial;

pub use create::{ResultDir, write_files};
pub use error::StoreError;
pub use read::{
    IntactResult, read_fault_series, read_intact, read_monitors, read_result, read_series,
    read_study, read_trial, trial_dirs, trial_number,
};
pub use trial::TrialWriter;
