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
mod benchmark;
mod cell;
mod columns;
pub mod compare;
mod content;
pub mod csv;
mod csv_writer;
mod describe;
pub mod doctor;
mod environment;
mod figures;
mod findings;
mod grid;
mod heading;
pub mod history;
mod html;
pub mod junit;
mod keys;
mod lead;
mod ledger;
mod list;
mod markdown;
mod metric_comparison;
mod number;
mod point;
mod provenance;
pub mod rank;
pub mod recovery;
mod report;
mod result_cautions;
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
mod workload_differences;

pub use answer::{Answer, AnswerError, Source};
pub use figures::Figures;
pub use html::ReportError;
pub use report::Report;
pub use sheet::Sheet;
pub use workload_differences::workload_differences;
