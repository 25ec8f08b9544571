//! The data of the figures, as JSON inside the page.

mod aligned;
pub(crate) mod captions;
mod overview;
mod thin;
mod trial;

use measure::result::RunResult;
use serde::Serialize;

use crate::study::Report;
use overview::Overview;
use trial::Trial;

#[derive(Debug)]
pub struct Figures {
    overview: Overview,
    /// Of each trial; separate, so that a browser parses only those that are shown.
    trials: Vec<Trial>,
}

/// The most seconds that a point of a trial's figures covers.
pub(crate) fn seconds_per_point(report: &Report<'_>) -> usize {
    // The points of trials that took turns are blocks of any length.
    let trials = report.result.trials.iter().zip(&report.series);
    let series = trials.filter(|(trial, _)| trial.setup.planned.turns().is_none());
    let read = series
        .map(|(_, points)| thin::seconds_per_point(points))
        .max();
    thin::factor(&report.series, &report.monitors) * read.unwrap_or(1)
}

impl Figures {
    pub(crate) fn of(report: &Report<'_>) -> Self {
        let factor = thin::factor(&report.series, &report.monitors);
        let of_faults = trial::fault_factor(&report.faults);
        let result = report.result;
        let trials = result.trials.iter().enumerate().map(|(place, trial)| {
            let faults = trial::faults(trial, at(&report.faults, place), of_faults);
            let (series, monitors) = (at(&report.series, place), at(&report.monitors, place));
            trial::trial(trial, series, monitors, faults, factor)
        });
        Self {
            trials: trials.collect(),
            overview: Overview::of(result, &report.faults, None),
        }
    }

    /// Of a result that may compare two variants, without its trials.
    pub(crate) fn overview_of(result: &RunResult, variants: Option<[&str; 2]>) -> Self {
        Self {
            overview: Overview::of(result, &[], variants),
            trials: Vec::new(),
        }
    }

    /// The overview and each trial, as JSON that may stand in a `<script>`.
    pub(crate) fn json(&self) -> Result<(String, Vec<String>), serde_json::Error> {
        let trials = self.trials.iter().map(json).collect::<Result<_, _>>();
        Ok((json(&self.overview)?, trials?))
    }
}

fn at<T>(all: &[Vec<T>], place: usize) -> &[T] {
    all.get(place).map_or(&[], Vec::as_slice)
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
