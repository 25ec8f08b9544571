//! Findings about hosts and servers from before the load.

pub mod check;

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much a finding matters to a measurement. The most severe level is the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Results are misleading.
    Severe,
    /// Results may be off by some percent; the setting may be intended.
    Warning,
    /// Matters when results of different hosts or servers are compared.
    Note,
    /// The check could not be performed.
    Unknown,
    /// No problem was found.
    Passed,
}

impl Level {
    #[rustfmt::skip]
    pub const ALL: [Self; 5] = [Self::Severe, Self::Warning, Self::Note, Self::Unknown, Self::Passed];

    /// This level if there is a problem.
    pub fn when(self, is_found: bool) -> Level {
        if is_found { self } else { Level::Passed }
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Severe => "severe",
            Self::Warning => "warning",
            Self::Note => "note",
            Self::Unknown => "unknown",
            Self::Passed => "passed",
        })
    }
}

/// The outcome of one check. docs/doctor.md lists the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Name of the check, for example `transparent-huge-pages`.
    pub id: String,
    /// The subject: `host`, a directory, or a server's URL without its password.
    pub of: String,
    pub level: Level,
    /// The file or setting that was read, and its value.
    pub observed: String,
    pub why: String,
    pub source: String,
    /// Usually a command; `None` if there is no remedy or none is needed.
    pub remedy: Option<String>,
}

pub fn count(findings: &[Finding], level: Level) -> usize {
    let of_level = findings.iter().filter(|finding| finding.level == level);
    of_level.count()
}
