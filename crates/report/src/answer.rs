//! A report in every format.

use std::io::{self, Write};

use measure::scale::NoLaw;
use measure::size::NoPlan;
use serde::Serialize;

use crate::figures::Figures;
use crate::sheet::Sheet;
use crate::text::Layout;
use crate::{html, point};

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

    fn html(&self) -> io::Result<String> {
        let mut page = Vec::new();
        self.write_html(&mut page)?;
        String::from_utf8(page).map_err(io::Error::other)
    }

    /// Writes the page without holding all of it in memory.
    fn write_html(&self, out: &mut dyn Write) -> io::Result<()> {
        html::write(&self.sheet(), self.figures().as_ref(), out)
    }
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// A key was asked for that is the same in all trials.
    #[error("`{key}` is not varied; what is: {varied}")]
    NoSuchKey { key: String, varied: String },
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
