//! How the variants of a study are compared.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::duration::text;

/// A comparison of variants over starts of their servers, which ends once it is decided: the keys of
/// `[compare]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compare {
    /// Maximum number of starts of each variant of a point: the repeats of its trials. Before any trial
    /// runs, it is reduced to what the budget is estimated to allow.
    pub starts: u32,
    /// After this time, no further start of a point begins.
    #[serde(with = "text")]
    pub budget: Duration,
    /// Whether the variants of a start run at once, in turns; decided before any trial runs.
    pub alternate: Alternate,
    /// Mean length of a turn.
    #[serde(with = "text")]
    pub block: Duration,
    /// Whether the servers of a variant are frozen while another one has its turn.
    #[serde(default)]
    pub pause: bool,
}

impl Compare {
    pub fn alternates(self) -> bool {
        self.alternate == Alternate::Always
    }
}

choice! {
    /// Whether the variants of a start run at once and take turns.
    Alternate {
        /// In turns if nothing rules them out and transactions only read.
        Auto = "auto",
        Always = "always",
        /// One trial after the other.
        Never = "never",
    }
}
