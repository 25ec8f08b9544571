//! The report: one page that needs nothing else.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use measure::result::RunResult;
use measure::series::SeriesPoint;
use sha2::{Digest, Sha256};

use crate::data::Data;
use crate::number;
use crate::section::{self, TrialView};
use crate::thin;
use crate::view::{self, Facts, Results, WarningView};

const STYLE: &str = include_str!("../assets/report.css");
const PLOTLY: &str = include_str!("../assets/plotly-basic.min.js");
const CHARTS: &str = include_str!("../assets/charts.js");

/// What a report is made of.
#[derive(Debug, Clone, Copy)]
pub struct Report<'a> {
    /// What the study found.
    pub result: &'a RunResult,
    /// The series of each trial, in the order of `result.trials`; a trial whose
    /// series is missing at the end is shown without.
    pub series: &'a [Vec<SeriesPoint>],
    /// The study file as run, without secrets.
    pub study: Option<&'a str>,
}

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// The page's template failed.
    #[error("cannot fill in the report: {0}")]
    Template(#[from] askama::Error),
    /// The figures' numbers could not be written down.
    #[error("cannot write the numbers of the figures: {0}")]
    Data(#[from] serde_json::Error),
}

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    result: &'a RunResult,
    lead: String,
    policy: String,
    style: &'static str,
    plotly: &'static str,
    charts: &'static str,
    data: String,
    warnings: Vec<WarningView>,
    setup: Vec<(&'static str, String)>,
    results: Results,
    swept: Option<String>,
    trials: Vec<TrialView<'a>>,
    environment: Facts,
    study: Option<&'a str>,
    thinned: Option<String>,
}

/// The page as HTML: self-contained, with no request to any network.
///
/// # Errors
/// When the page cannot be put together; no input is known that does that.
pub fn page(report: &Report<'_>) -> Result<String, ReportError> {
    let result = report.result;
    let total = report.series.iter().map(Vec::len).sum();
    let factor = thin::factor(total);
    let data = Data::of(&result.trials, report.series, factor);
    let page = Page {
        result,
        lead: view::lead(&result.trials),
        policy: policy(),
        style: STYLE,
        plotly: PLOTLY,
        charts: CHARTS,
        warnings: view::warnings(&result.trials),
        setup: view::setup(&result.trials),
        results: Results::of(&result.trials),
        swept: data.sweep.as_ref().map(|sweep| sweep.key.clone()),
        data: data.json()?,
        trials: section::trials(&result.trials, report.series),
        environment: view::environment(&result.environment),
        study: report.study.filter(|study| !study.trim().is_empty()),
        thinned: (factor > 1).then(|| thinned(total, factor)),
    };
    Ok(page.render()?)
}

fn thinned(total: usize, factor: usize) -> String {
    format!(
        "The series hold {} seconds, more than a page can carry: each point stands for up to \
         {factor} seconds, with the mean of their rates and the largest of their times. All \
         seconds are in the series.jsonl of each trial.",
        number::count(total as u64)
    )
}

/// Nothing may be fetched, and no script runs but the two of this page, known by
/// their hashes; styles are set by the figures as they draw.
fn policy() -> String {
    format!(
        "default-src 'none'; script-src '{}' '{}'; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'",
        hash(PLOTLY),
        hash(CHARTS)
    )
}

fn hash(script: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(script)))
}
