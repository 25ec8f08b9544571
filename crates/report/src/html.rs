//! Writes a sheet as one page that needs nothing else: no request to any network.

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

use crate::figures::Figures;
use crate::sheet::{Block, Sheet};

const STYLE: &str = include_str!("../assets/report.css");
const PLOTLY: &str = include_str!("../assets/plotly-basic.min.js");
const CHARTS: &str = concat!(
    "\"use strict\";\n",
    include_str!("../assets/figure.js"),
    include_str!("../assets/overview.js"),
    include_str!("../assets/trial.js"),
    include_str!("../assets/page.js"),
);

/// A report that could not be made.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    #[error("cannot fill in the report: {0}")]
    Template(#[from] askama::Error),
    /// The data of the figures could not be serialized.
    #[error("cannot write the data of the figures: {0}")]
    Data(#[from] serde_json::Error),
}

#[derive(Template)]
#[template(path = "sheet.html")]
struct Page<'a> {
    sheet: &'a Sheet,
    policy: String,
    style: &'static str,
    figures: Option<FigureData>,
}

/// What the figures need, as it stands in the page.
struct FigureData {
    overview: String,
    series: Vec<String>,
    plotly: &'static str,
    charts: &'static str,
}

#[derive(Template)]
#[template(path = "block.html")]
struct View<'a> {
    block: &'a Block,
}

pub(crate) fn write(sheet: &Sheet, figures: Option<&Figures>) -> Result<String, ReportError> {
    let page = Page {
        sheet,
        policy: policy(),
        style: STYLE,
        figures: figures.map(FigureData::of).transpose()?,
    };
    Ok(page.render()?)
}

impl FigureData {
    fn of(figures: &Figures) -> Result<Self, serde_json::Error> {
        Ok(Self {
            overview: figures.overview.json()?,
            series: figures.trials_json()?,
            plotly: PLOTLY,
            charts: CHARTS,
        })
    }
}

/// Nothing may be fetched, and the only scripts that run are the page's own two, identified by
/// their hashes. The figures set styles as they draw.
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
