//! Results as a web page, Markdown, text, CSV and JSON. Pure: strings only, no file, no
//! terminal.
//!
//! ```text
//! result  -> study, trial, summary                \
//! results -> compare, rank, size, history          > Sheet -> text, markdown, html
//! findings -> doctor                              /
//! ```
//!
//! An [`Answer`] has a sheet, and CSV and JSON of its numbers.

mod answer;
mod cell;
mod column;
pub mod compare;
mod contest;
pub mod csv;
mod describe;
pub mod doctor;
mod doubts;
mod environment;
mod figures;
mod findings;
mod grid;
pub mod history;
mod html;
pub mod junit;
mod keys;
mod likeness;
mod list;
mod markdown;
mod number;
mod point;
mod provenance;
pub mod rank;
pub mod scale;
pub mod search;
mod settings;
mod sheet;
pub mod size;
pub mod study;
pub mod summary;
mod table;
pub mod text;
pub mod thresholds;
mod trial;

pub use answer::Answer;
pub use figures::Figures;
pub use html::ReportError;
pub use likeness::unlike;
pub use point::NoSuchKey;
pub use sheet::Sheet;

use measure::metric::MonitorPoint;
use measure::result::RunResult;
use measure::series::SeriesPoint;
use serde::Serialize;

/// One result, with all that its report shows. As JSON it is the result.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Report<'a> {
    /// What was measured.
    pub result: &'a RunResult,
    /// The series of each trial, in the order of `result.trials`; trials beyond its end are
    /// shown without.
    #[serde(skip)]
    pub series: &'a [Vec<SeriesPoint>],
    /// The metrics of each trial, in the same order.
    #[serde(skip)]
    pub monitors: &'a [Vec<MonitorPoint>],
    /// The study file as run, without secrets.
    #[serde(skip)]
    pub study: Option<&'a str>,
}
