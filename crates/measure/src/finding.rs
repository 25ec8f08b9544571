//! Findings about hosts and servers from before the load.

pub mod check;

use serde::{Deserialize, Serialize};

use crate::words::words;

words! {
    /// How much a finding matters to a measurement, the most severe level first.
    Level {
        /// Results are misleading.
        Severe = "severe",
        /// Results may be off by some percent; the setting may be intended.
        Warning = "warning",
        /// Matters when results of different hosts or servers are compared.
        Note = "note",
        /// The check could not be performed.
        Unknown = "unknown",
        /// No problem was found.
        Passed = "passed",
    }
}

impl Level {
    /// This level if there is a problem.
    pub fn when(self, is_found: bool) -> Level {
        if is_found { self } else { Level::Passed }
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
