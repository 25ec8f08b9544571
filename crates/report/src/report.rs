//! A result with everything that its report shows.

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
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
    /// The transactions around the faults of each trial, in the same order.
    #[serde(skip)]
    pub faults: &'a [Vec<FaultSeries>],
    /// The study file as run, without secrets.
    #[serde(skip)]
    pub study: Option<&'a str>,
}
