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
mod csv_writer;
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
mod report;
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
pub use report::Report;
pub use sheet::Sheet;
