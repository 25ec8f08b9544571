//! Events of nodes during a trial that the study did not ask for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An event of a node that the study did not ask for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEvent {
    /// Seconds on the trial's clock, like `t_s` of its series.
    pub at_s: f64,
    /// Number of the node, counted from 1.
    pub node: u32,
    pub what: NodeEventKind,
    /// How the node died, or which node was the primary before.
    pub reason: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEventKind {
    /// Died unexpectedly.
    Died,
    /// Became the primary that virtual users follow.
    BecamePrimary,
}

impl fmt::Display for NodeEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Died => "died",
            Self::BecamePrimary => "became the primary",
        })
    }
}

/// For people: `at 12.0 s: server 1 died`.
impl fmt::Display for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at_s, node, what) = (self.at_s, self.node, self.what);
        write!(f, "at {at_s:.1} s: server {node} {what}")
    }
}
