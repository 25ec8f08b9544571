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
pub mod characters;
pub mod compare;
pub mod csv;
mod describe;
pub mod doctor;
mod figures;
mod findings;
mod grid;
pub mod history;
mod host;
mod html;
pub mod junit;
mod keys;
mod lead;
mod ledger;
mod list;
mod markdown;
mod metric_comparison;
mod number;
pub mod parts;
mod point;
pub mod rank;
pub mod recovery;
pub mod scale;
pub mod search;
mod sheet;
pub mod size;
pub mod study;
pub mod summary;
mod table;
pub mod text;
pub mod thresholds;
mod trial;
mod workload_differences;

pub use answer::{Answer, AnswerError};
pub use figures::Figures;
pub use keys::variants;
pub use point::Source;
pub use sheet::Sheet;
pub use study::Report;
pub use workload_differences::workload_differences;
