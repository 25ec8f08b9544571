//! What host and servers were found to be like before the first load.

use measure::finding::{Finding, Level};
use measure::result::RunResult;

use crate::grid::{Grid, heads};

/// What may spoil the numbers, or calls for care.
pub(crate) fn spoilers(result: &RunResult) -> Vec<Spoiler> {
    let findings = result.findings.iter();
    let worst = findings.filter(|finding| finding.level < Level::Note);
    worst.map(Spoiler::of).collect()
}

/// A finding that matters, in the words of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Spoiler {
    /// `spoils` or `careful`.
    pub(crate) level: String,
    /// The check, and what was looked at where that is not the host.
    pub(crate) name: String,
    pub(crate) seen: String,
    /// Why it matters, with its source.
    pub(crate) why: String,
    pub(crate) mend: Option<String>,
}

impl Spoiler {
    fn of(finding: &Finding) -> Self {
        Self {
            level: finding.level.to_string(),
            name: name(finding),
            seen: finding.seen.clone(),
            why: why(finding),
            mend: finding.mend.clone(),
        }
    }
}

/// The check, and what was looked at where that is not the host.
pub(crate) fn name(finding: &Finding) -> String {
    match finding.of.as_str() {
        "host" => finding.id.clone(),
        of => format!("{} of {of}", finding.id),
    }
}

/// Why a finding matters, with its source.
pub(crate) fn why(finding: &Finding) -> String {
    format!("{} Source: {}.", finding.why, finding.source)
}

/// What is to be known besides, and what could not be looked at.
pub(crate) fn others(result: &RunResult) -> Grid {
    let findings = result.findings.iter();
    let others = findings.filter(|finding| finding.level >= Level::Note);
    let rows = others.map(|finding| {
        let level = finding.level.to_string();
        vec![name(finding), level, finding.seen.clone()]
    });
    Grid {
        caption: "What else was found of host and servers before the first load, and what could \
                  not be looked at."
            .to_owned(),
        heads: heads(["check", "level", "seen"]),
        keys: 1,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    }
}
