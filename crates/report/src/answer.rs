//! A report in every format.

use std::io::{self, Write};

use measure::metric::MonitorPoint;
use measure::recovery::FaultSeries;
use measure::result::RunResult;
use measure::scale::NoLaw;
use measure::series::SeriesPoint;
use measure::size::NoPlan;
use serde::Serialize;

use crate::figures::Figures;
use crate::html::{self, ReportError};
use crate::point::{self, NoSuchKey};
use crate::sheet::Sheet;
use crate::text::Layout;

/// Something that dyno reports: one result, or the answer to a question about several.
pub trait Answer: Serialize {
    fn sheet(&self) -> Sheet;

    fn csv(&self) -> String;

    /// The data of its figures; `None` without figures.
    fn figures(&self) -> Option<Figures> {
        None
    }

    fn text(&self, layout: Layout) -> String {
        self.sheet().text(layout)
    }

    fn markdown(&self) -> String {
        self.sheet().markdown()
    }

    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    fn html(&self) -> Result<String, ReportError> {
        let mut page = Vec::new();
        self.write_html(&mut page)?;
        Ok(String::from_utf8(page).map_err(io::Error::other)?)
    }

    /// Writes the page without holding all of it in memory.
    fn write_html(&self, out: &mut dyn Write) -> Result<(), ReportError> {
        html::write(&self.sheet(), self.figures().as_ref(), out)
    }
}

/// One result, with all that its report shows. As JSON it is the result.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(transparent)]
pub struct Report<'a> {
    pub result: &'a RunResult,
    /// The series of each trial, in the order of `result.trials`; trials beyond its end are
    /// shown without. The metrics and the transactions around faults are in the same order.
    #[serde(skip)]
    pub series: &'a [Vec<SeriesPoint>],
    #[serde(skip)]
    pub monitors: &'a [Vec<MonitorPoint>],
    #[serde(skip)]
    pub faults: &'a [Vec<FaultSeries>],
    /// The study file as run, without secrets.
    #[serde(skip)]
    pub study: Option<&'a str>,
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

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    #[error(transparent)]
    NoSuchKey(#[from] NoSuchKey),
    #[error("no result has a valid trial{}", point::at(.0))]
    NoTrial(Vec<(String, String)>),
    #[error("no trial has a valid throughput{}", point::at(.0))]
    NoThroughput(Vec<(String, String)>),
    #[error("{one} and {other} ran different workloads: {unlike}")]
    OtherWork {
        one: String,
        other: String,
        unlike: String,
    },
    #[error(
        "all trials ran {0} on the server, so its scalability and the efficiency of further servers \
         are unknown"
    )]
    NoSweep(String),
    #[error("the efficiency is unknown because no scalability law was fitted: {0}")]
    NoLaw(#[from] NoLaw),
    #[error(
        "the efficiency is unknown: the fitted contention (σ) is 0, but the data do not bound it"
    )]
    UnknownEfficiency,
    #[error(transparent)]
    NoPlan(#[from] NoPlan),
}

impl AnswerError {
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::OtherWork { .. } => Some(
                "choose a point that all results have with --point, or rank them anyway with --force",
            ),
            Self::NoSweep(_) | Self::NoLaw(_) | Self::UnknownEfficiency => Some(
                "give the efficiency: with --efficiency 0.9, each additional server adds 90 % of the \
                 throughput of a single one",
            ),
            _ => None,
        }
    }
}
