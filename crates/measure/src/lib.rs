//! Counters, histograms and statistics of a load. Pure: no clock, no file.

pub mod agent;
pub mod change_point;
mod check;
pub mod clock;
pub mod column;
pub mod compare;
pub mod curve;
pub mod digits;
pub mod fault;
pub mod find_max;
pub mod finding;
pub mod instance;
pub mod interval;
pub mod latency;
mod least_squares;
pub mod ledger;
pub mod little;
mod long_run;
pub mod metric;
pub mod others;
pub mod parts;
pub mod point_estimate;
pub mod quantile;
pub mod recovery;
pub mod result;
pub mod scale;
pub mod series;
pub mod setup;
pub mod share;
pub mod size;
pub mod slice;
pub mod steady;
mod student;
pub mod summarize;
pub mod summary;
pub mod threshold;
pub mod until;
pub mod values;
pub mod verdict;
pub mod warning;
mod words;
pub mod work;

#[cfg(test)]
mod reference_tests;
