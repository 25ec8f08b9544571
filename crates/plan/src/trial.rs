//! The trials of a study, and how they are arranged.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::key::VARIANT;
use crate::{
    Chaos, Compare, Data, Ledger, Load, Point, ServerSpec, SiteKind, Spanned, Topology, Transaction,
};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    pub title: String,
    pub description: Option<String>,
    /// At least one, in the order in which they run.
    pub trials: Vec<Trial>,
    /// Dotted names of the axes, slowest first in the order as written; `variant` is the first if the
    /// study has variants.
    pub axes: Vec<String>,
    pub repeats: u32,
    pub order: Order,
    pub tables: Vec<TableSpec>,
    /// Title of the paper whose sign convention comparisons also use.
    pub delta_as_in: Option<String>,
    pub thresholds: Vec<ThresholdSpec>,
    /// Name of the variant to which thresholds may be relative.
    pub baseline: Option<Spanned<String>>,
    /// Names of the sizes that an override can choose, in alphabetical order.
    pub sizes: Vec<String>,
    pub size: Option<String>,
}

/// How trials are ordered. In any order, every point runs once before any runs again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Whether each block of repeats has a random order, balanced over the blocks.
    pub random: bool,
    pub seed: u64,
}

/// A sentence for a report.
impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.random {
            write!(f, "blocks in balanced random order, seed {}", self.seed)
        } else {
            f.write_str("blocks in the order of the study")
        }
    }
}

/// A table of the report: a row for each value of an axis, a column for each number.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TableSpec {
    /// One of [`Plan::axes`].
    pub rows: Spanned<String>,
    /// Names of metrics; the caller knows the valid ones.
    pub columns: Vec<Spanned<String>>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdSpec {
    /// Name of the metric; the caller knows the valid ones.
    pub column: Spanned<String>,
    /// A condition such as `< 25`; the caller parses it.
    pub condition: Spanned<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// Position in the order in which trials run, from 1.
    pub number: u32,
    /// Its label: `small pool, threads=4, repeat 2`; `single` in a study of one trial.
    pub label: String,
    /// Number of the repeat of its point, from 1.
    pub repeat: u32,
    /// Index of its point in the study as written, from 0: variants first, then the last axis fastest.
    #[serde(default)]
    pub place: u32,
    pub server: ServerSpec,
    pub data: Data,
    pub load: Load,
    pub transaction: Transaction,
    pub topology: Topology,
    /// The workload beside the load that proves which commits were kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ledger: Option<Ledger>,
    /// The random schedule from which faults were drawn, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chaos: Option<Chaos>,
    /// How its variant is compared with the others; `None` without `[compare]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub compare: Option<Compare>,
    pub monitors: bool,
    /// Its value on each axis of [`Plan::axes`].
    pub point: Point,
}

impl Trial {
    /// Name of its variant, in a study with variants.
    pub fn variant(&self) -> Option<&str> {
        self.point.get(VARIANT)?.as_text()
    }

    /// Whether its servers listen where only this machine reaches them.
    pub fn serves_only_this_machine(&self) -> bool {
        match &self.server {
            ServerSpec::Url(url, _) => url.is_loopback(),
            ServerSpec::Engine(_) => self.topology.node.site.kind.value != SiteKind::Ssh,
        }
    }

    /// Its point without its variant: what its variants have in common.
    pub fn common_point(&self) -> Point {
        let mut point = self.point.clone();
        point.remove(VARIANT);
        point
    }

    /// How it takes turns with the other variants of its start, if it does. Its seconds are then its
    /// blocks, with gaps between them.
    pub fn turns(&self) -> Option<Compare> {
        self.compare.filter(|compare| compare.alternates())
    }

    /// Whether two trials belong to the same start, and its variants take turns.
    pub fn takes_turns_with(&self, other: &Self) -> bool {
        self.turns().is_some()
            && other.turns().is_some()
            && self.repeat == other.repeat
            && self.common_point() == other.common_point()
    }

    pub fn key_range(&self) -> u64 {
        self.load.key_range.unwrap_or(self.data.rows)
    }

    pub fn users(&self) -> u64 {
        u64::from(self.load.threads) * u64::from(self.topology.instances.max(1))
    }
}
