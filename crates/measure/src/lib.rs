//! Counters, histograms and statistics of a load. Pure: no clock, no file.

pub mod change;
mod check;
pub mod column;
pub mod compare;
pub mod ended;
pub mod find_max;
pub mod finding;
pub mod gather;
pub mod instance;
pub mod interval;
mod judge;
pub mod knee;
pub mod latency;
mod least_squares;
pub mod little;
mod long_run;
pub mod metric;
pub mod quantile;
mod reference;
pub mod repeats;
pub mod result;
pub mod scale;
pub mod series;
pub mod setup;
pub mod size;
pub mod slice;
pub mod steady;
mod student;
pub mod summary;
pub mod threshold;
pub mod until;
pub mod verdict;
pub mod warning;

pub use reference::metrics_markdown;
