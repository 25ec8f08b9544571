//! Results as a web page, Markdown, CSV and text. Pure: strings only, no file, no
//! terminal.
//!
//! ```text
//! RunResult -> keys, points, tables (what is shown) -> document -> html, markdown
//!                                                   -> csv, text
//! ```

mod answer;
mod cell;
mod column;
pub mod compare;
mod contest;
pub mod csv;
mod describe;
mod doctor;
mod document;
mod doubts;
mod environment;
mod figures;
mod findings;
mod grid;
pub mod history;
pub mod html;
pub mod junit;
mod keys;
mod likeness;
mod list;
pub mod markdown;
mod number;
mod point;
mod provenance;
pub mod rank;
pub mod scale;
pub mod search;
mod section;
mod settings;
mod sheet;
pub mod size;
mod table;
pub mod text;
mod thresholds;

pub use answer::Answer;
pub use likeness::unlike;
pub use point::NoSuchKey;

use measure::metric::MonitorPoint;
use measure::result::RunResult;
use measure::series::SeriesPoint;

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// What the study found.
    pub result: &'a RunResult,
    /// The series of each trial, in the order of `result.trials`; a trial whose
    /// series is missing at the end is shown without.
    pub series: &'a [Vec<SeriesPoint>],
    /// What the monitors saw during each trial, in the same order.
    pub monitors: &'a [Vec<MonitorPoint>],
    /// The study file as run, without secrets.
    pub study: Option<&'a str>,
}
