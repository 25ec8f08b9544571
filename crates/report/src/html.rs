//! Writes a sheet as one page that needs nothing else: no request to any network.

use std::fmt;
use std::io::{self, Read, Write};

use askama::Template;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::bufread::GzDecoder;
use sha2::{Digest, Sha256};

use crate::figures::Figures;
use crate::sheet::{Block, Sheet};

const STYLE: &str = include_str!("../assets/report.css");
/// Most of a page. Compressed, and decompressed piece by piece while a page is written: otherwise, it
/// would be the peak of dyno's memory.
const PLOTLY: &[u8] = include_bytes!("../assets/plotly-basic.min.js.gz");
/// How much of it is decompressed at once.
const PIECE_BYTES: u64 = 64 << 10;
const CHARTS: &str = concat!(
    "\"use strict\";\n",
    include_str!("../assets/figure.js"),
    include_str!("../assets/overview.js"),
    include_str!("../assets/trial.js"),
    include_str!("../assets/page.js"),
);

#[derive(Template)]
#[template(path = "sheet.html")]
struct Page<'a> {
    sheet: &'a Sheet,
    policy: String,
    /// The data of the overview and of each trial.
    figures: Option<(String, Vec<String>)>,
}

#[derive(Template)]
#[template(path = "block.html")]
struct View<'a> {
    block: &'a Block,
}

pub(crate) fn write(
    sheet: &Sheet,
    figures: Option<&Figures>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = Page {
        sheet,
        policy: policy()?,
        figures: figures.map(Figures::json).transpose()?,
    };
    page.write_into(out)
}

struct Plotly;

impl Plotly {
    /// Passes on the script in pieces of whole characters.
    fn pieces(mut piece: impl FnMut(&str) -> io::Result<()>) -> io::Result<()> {
        let mut script = GzDecoder::new(PLOTLY);
        let mut buffer = Vec::new();
        while (&mut script).take(PIECE_BYTES).read_to_end(&mut buffer)? > 0 {
            let whole = match str::from_utf8(&buffer) {
                Ok(text) => text,
                Err(error) => str::from_utf8(&buffer[..error.valid_up_to()]).unwrap_or_default(),
            };
            piece(whole)?;
            let length = whole.len();
            buffer.drain(..length);
        }
        Ok(())
    }
}

impl fmt::Display for Plotly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Self::pieces(|text| f.write_str(text).map_err(io::Error::other)).map_err(|_| fmt::Error)
    }
}

/// Nothing may be fetched, and the only scripts that run are the page's own two, identified by
/// their hashes. The figures set styles as they draw.
fn policy() -> io::Result<String> {
    let mut plotly = Sha256::new();
    Plotly::pieces(|text| {
        plotly.update(text);
        Ok(())
    })?;
    Ok(format!(
        "default-src 'none'; script-src '{}' '{}'; style-src 'unsafe-inline'; img-src data: blob:; \
         base-uri 'none'; form-action 'none'",
        source(plotly),
        source(Sha256::new_with_prefix(CHARTS))
    ))
}

/// A script as the policy names it.
fn source(hash: Sha256) -> String {
    format!("sha256-{}", STANDARD.encode(hash.finalize()))
}
