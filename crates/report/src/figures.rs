//! The data of the figures, as JSON inside the page.

mod curves;
mod faults;
mod pack;
mod scale;
mod searches;
mod sweep;
mod thin;
mod trial;

use measure::result::RunResult;
use serde::Serialize;

use crate::answer::Report;
use crate::keys;
use crate::lead;
use curves::{Curve, curves, curves_of_two};
use scale::Scale;
use searches::Search;
pub(crate) use sweep::Sweep;
use trial::Trial;

/// The data of all figures of a page.
#[derive(Debug)]
pub struct Figures {
    pub(crate) overview: Overview,
    /// Of each trial; separate, so that a browser parses only those that are shown.
    trials: Vec<Trial>,
}

/// The data of the figures of a whole result.
#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    sweep: Option<Sweep>,
    searches: Vec<Search>,
    scale: Option<Scale>,
    curves: Vec<Curve>,
    cpu: [&'static str; 8],
    names: Vec<String>,
    /// The place of the trial that is shown first, from 1.
    best: usize,
}

/// The sweep that is drawn: none of a search, whose steps are no sweep.
pub(crate) fn sweep(result: &RunResult) -> Option<Sweep> {
    sweep::sweep(result).filter(|_| result.searches.is_empty())
}

/// The most seconds that a point of a trial's figures covers.
pub(crate) fn seconds_per_point(report: &Report<'_>) -> usize {
    let series = report.series.iter();
    let read = series.map(|points| thin::seconds_per_point(points)).max();
    thin::factor(report.series, report.monitors) * read.unwrap_or(1)
}

impl Figures {
    /// Of one result with the series of its trials.
    pub(crate) fn of(report: &Report<'_>) -> Self {
        let factor = thin::factor(report.series, report.monitors);
        let of_faults = faults::factor(report.faults);
        let result = report.result;
        let trials = result.trials.iter().enumerate().map(|(place, trial)| {
            let series = report.series.get(place).map_or(&[][..], Vec::as_slice);
            let monitors = report.monitors.get(place).map_or(&[][..], Vec::as_slice);
            let faults = report.faults.get(place).map_or(&[][..], Vec::as_slice);
            let faults = faults::faults(trial, faults, of_faults);
            trial::trial(trial, series, monitors, faults, factor)
        });
        Self {
            trials: trials.collect(),
            overview: Overview::of(result),
        }
    }

    /// Of a result without its trials.
    pub(crate) fn overview_of(result: &RunResult) -> Self {
        Self {
            overview: Overview::of(result),
            trials: Vec::new(),
        }
    }

    /// Of a result that compares two variants, without its trials.
    pub(crate) fn of_two(result: &RunResult, variants: [&str; 2]) -> Self {
        Self {
            overview: Overview {
                curves: curves_of_two(result, variants),
                ..Overview::of(result)
            },
            trials: Vec::new(),
        }
    }

    /// Each trial as JSON that may stand in a `<script>`.
    pub(crate) fn trials_json(&self) -> Result<Vec<String>, serde_json::Error> {
        self.trials.iter().map(json).collect()
    }
}

impl Overview {
    fn of(result: &RunResult) -> Self {
        let trials = result.trials.iter();
        let names = trials.map(|trial| keys::trial_name(trial, result));
        Self {
            sweep: sweep(result),
            searches: searches::searches(result),
            scale: scale::scale(result),
            curves: curves(result),
            cpu: sweep::CPU,
            names: names.collect(),
            best: lead::best_trial(result),
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
