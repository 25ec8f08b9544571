//! The numbers of the figures, as JSON inside the page.

mod curves;
mod pack;
mod scale;
mod searches;
mod sweep;
mod thin;
mod trial;

use measure::result::RunResult;
use serde::Serialize;

use crate::Report;
use crate::findings;
use crate::keys;
use curves::{Curve, curves, curves_of_two};
use scale::Scale;
use searches::Search;
use sweep::Sweep;
use trial::Trial;

/// Everything that the figures draw.
#[derive(Debug)]
pub(crate) struct Figures {
    pub(crate) overview: Overview,
    /// Of each trial; apart, so that a browser reads only those that are looked at.
    trials: Vec<Trial>,
    /// How many seconds one point of a series stands for, at most.
    pub(crate) seconds_per_point: usize,
}

/// What the figures of the study draw.
#[derive(Debug, Serialize)]
pub struct Overview {
    /// Not of a search, whose steps are no sweep.
    pub(crate) sweep: Option<Sweep>,
    searches: Vec<Search>,
    scale: Option<Scale>,
    curves: Vec<Curve>,
    /// The categories of CPU time.
    cpu: [&'static str; 8],
    names: Vec<String>,
    /// The place of the trial that is shown first, from 1.
    best: usize,
}

impl Figures {
    pub(crate) fn of(report: &Report<'_>) -> Self {
        let factor = thin::factor(report.series, report.monitors);
        let read = report
            .series
            .iter()
            .map(|points| thin::seconds_per_point(points))
            .max();
        let result = report.result;
        let trials = result.trials.iter().enumerate().map(|(place, trial)| {
            let series = report.series.get(place).map_or(&[][..], Vec::as_slice);
            let monitors = report.monitors.get(place).map_or(&[][..], Vec::as_slice);
            trial::trial(trial, series, monitors, factor)
        });
        Self {
            trials: trials.collect(),
            overview: Overview::of(result),
            seconds_per_point: factor * read.unwrap_or(1),
        }
    }

    /// Each trial as JSON that may stand in a `<script>`.
    pub(crate) fn trials_json(&self) -> Result<Vec<String>, serde_json::Error> {
        self.trials.iter().map(json).collect()
    }
}

impl Overview {
    pub(crate) fn of(result: &RunResult) -> Self {
        let trials = result.trials.iter();
        let names = trials.map(|trial| keys::trial_name(trial, result));
        Self {
            sweep: sweep::sweep(result).filter(|_| result.searches.is_empty()),
            searches: searches::searches(result),
            scale: scale::scale(result),
            curves: curves(result),
            cpu: sweep::CPU,
            names: names.collect(),
            best: findings::best_trial(result),
        }
    }

    /// Of a result whose two variants are held against each other.
    pub(crate) fn of_two(result: &RunResult, variants: [&str; 2]) -> Self {
        Self {
            curves: curves_of_two(result, variants),
            ..Self::of(result)
        }
    }

    /// As JSON that may stand in a `<script>`.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        json(self)
    }
}

/// Nothing in it can end the element or open a comment, and no line separator can
/// break it.
fn json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let json = serde_json::to_string(value)?;
    Ok(json
        .replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029"))
}
