//! What reports are written about.

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::result::RunResult;
use measure::series::SeriesPoint;
use serde::Serialize;

/// One result, with all that its report shows. As JSON it is the result.
#[derive(Debug, Serialize)]
#[serde(transparent)]
pub struct Report<'a> {
    pub result: &'a RunResult,
    /// The series of each trial, in the order of `result.trials`; trials beyond its end are
    /// shown without. The metrics and the transactions around faults are in the same order.
    #[serde(skip)]
    pub series: Vec<Vec<SeriesPoint>>,
    #[serde(skip)]
    pub monitors: Vec<Vec<MonitorPoint>>,
    #[serde(skip)]
    pub faults: Vec<Vec<FaultSeries>>,
    /// The study file as run, without secrets.
    #[serde(skip)]
    pub study: Option<String>,
}

/// A result that a question is about.
#[derive(Debug, Clone, Copy)]
pub struct Source<'a> {
    /// What it competes with; all that are of one category may leave it empty.
    pub category: &'a str,
    /// What tells it from the others, such as the name of its directory.
    pub name: &'a str,
    pub result: &'a RunResult,
}
