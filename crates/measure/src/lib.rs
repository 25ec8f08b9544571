//! Counters, histograms and statistics of a load. Pure: no clock, no file.

pub mod latency;
pub mod slice;
