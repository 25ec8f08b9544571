//! What the monitors of the laboratory saw, second by second and on the whole.
//!
//! A metric has a dotted name, and the thing it is of in brackets where there may
//! be several: `cpu.user`, `cpu[0].user`, `disk[vda].read_iops`, `server[1].cpu`.
//! What a host or server does not tell is not there; it is never 0.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What all monitors saw in one stretch of time, as a line of `monitors.jsonl`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MonitorPoint {
    /// Its start on the load's clock, in seconds.
    pub t_s: f64,
    /// Its length, in seconds.
    pub seconds: f64,
    /// Each metric by its name.
    pub values: BTreeMap<String, f64>,
}

/// One metric over the measure phase of a trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MetricSummary {
    /// Over the whole phase: of counters their growth by its length, of shares the
    /// quotient of the growths, of levels the mean of the samples.
    pub mean: f64,
    /// Of the samples the lowest.
    pub min: f64,
    /// Of the samples the highest.
    pub max: f64,
}

/// All metrics of a trial by name.
pub type Metrics = BTreeMap<String, MetricSummary>;
