//! The report as one page that needs nothing else.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::Report;
use crate::document::Document;
use crate::figures::{Figures, Overview};
use crate::section::{self, TrialView};
use crate::sheet::Sheet;

const STYLE: &str = include_str!("../assets/report.css");
const PLOTLY: &str = include_str!("../assets/plotly-basic.min.js");
const CHARTS: &str = concat!(
    "\"use strict\";\n",
    include_str!("../assets/figure.js"),
    include_str!("../assets/overview.js"),
    include_str!("../assets/trial.js"),
    include_str!("../assets/page.js"),
);

/// Trials beyond this have their tables of a line each folded away.
const MOST_OPEN: usize = 16;

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
    document: Document<'a>,
    policy: String,
    style: &'static str,
    plotly: &'static str,
    charts: &'static str,
    swept: Option<String>,
    searched: bool,
    cpu: bool,
    trials: Vec<TrialView>,
    open: bool,
    overview: String,
    series: Vec<String>,
    thinned: Option<String>,
}

/// The page as HTML: self-contained, with no request to any network.
///
/// # Errors
/// When the page cannot be put together; no input is known that does that.
pub fn page(report: &Report<'_>) -> Result<String, ReportError> {
    let figures = Figures::of(report);
    let sweep = figures.overview.sweep.as_ref();
    let page = Page {
        document: Document::of(report),
        policy: policy(),
        style: STYLE,
        plotly: PLOTLY,
        charts: CHARTS,
        swept: sweep.map(|sweep| sweep.key.clone()),
        searched: !report.result.searches.is_empty(),
        cpu: sweep.is_some_and(|sweep| sweep.cpu),
        trials: section::trials(report.result),
        open: report.result.trials.len() <= MOST_OPEN,
        overview: figures.overview.json()?,
        series: figures.trials_json()?,
        thinned: (figures.seconds_per_point > 1).then(|| thinned(figures.seconds_per_point)),
    };
    Ok(page.render()?)
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct SheetPage<'a> {
    sheet: &'a Sheet,
    version: &'a str,
    policy: String,
    style: &'static str,
    plotly: &'static str,
    charts: &'static str,
    overview: Option<String>,
}

/// What is said of several results; `overview` is what its figures draw.
pub(crate) fn sheet(
    sheet: &Sheet,
    version: &str,
    overview: Option<&Overview>,
) -> Result<String, ReportError> {
    let page = SheetPage {
        sheet,
        version,
        policy: policy(),
        style: STYLE,
        plotly: PLOTLY,
        charts: CHARTS,
        overview: overview.map(Overview::json).transpose()?,
    };
    Ok(page.render()?)
}

fn thinned(factor: usize) -> String {
    format!(
        "The series hold more seconds than a page can carry: each point stands for up to {factor} \
         seconds, with the mean of their rates and the largest of their times. All seconds are in \
         the files of each trial."
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
