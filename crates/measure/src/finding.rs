//! What a look at host and servers found before anything was under load.

pub mod check;

use std::fmt;

use serde::{Deserialize, Serialize};

/// How much something matters to a measurement; the worst is the least.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// Numbers that are measured with it do not say what they seem to say.
    Spoils,
    /// It may be meant, or may cost some per cent: somebody should have thought of it.
    Careful,
    /// Who compares with another host or server should know it.
    Note,
    /// It could not be looked at.
    Unseen,
    /// It is as it should be.
    Passed,
}

impl Level {
    /// All of them, the worst first.
    pub const ALL: [Level; 5] = [
        Level::Spoils,
        Level::Careful,
        Level::Note,
        Level::Unseen,
        Level::Passed,
    ];
}

/// The word for it in JSON and in tables.
impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Spoils => "spoils",
            Self::Careful => "careful",
            Self::Note => "note",
            Self::Unseen => "unseen",
            Self::Passed => "passed",
        })
    }
}

/// What one check found. docs/doctor.md lists the checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The check, for example `transparent-huge-pages`.
    pub id: String,
    /// What was looked at: `host`, a directory, or a server without its password.
    pub of: String,
    /// How much it matters here.
    pub level: Level,
    /// The file or the setting that was looked at, with its value.
    pub seen: String,
    /// Why it matters, in one sentence.
    pub why: String,
    /// Who says so.
    pub source: String,
    /// What mends it, mostly a command; `None` where nothing is to be mended, or nobody can.
    pub mend: Option<String>,
}

/// How many findings are of a level.
#[must_use]
pub fn count(findings: &[Finding], level: Level) -> usize {
    let of_level = findings.iter().filter(|finding| finding.level == level);
    of_level.count()
}
