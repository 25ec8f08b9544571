//! What happened to nodes during a trial that nobody asked for.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that happened to a node and that the study did not ask for, on the trial's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEvent {
    /// When it happened, in seconds, like `t_s` of the trial's series.
    pub at_s: f64,
    /// The node, from 1.
    pub node: u32,
    /// What happened.
    pub what: NodeEventKind,
    /// Why: how the node died, or which one was the primary before.
    pub reason: String,
}

/// What happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEventKind {
    /// Died, and the study did not expect it.
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

/// A line for people: `at 12.0 s: server 1 died`.
impl fmt::Display for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (at_s, node, what) = (self.at_s, self.node, self.what);
        write!(f, "at {at_s:.1} s: server {node} {what}")
    }
}
