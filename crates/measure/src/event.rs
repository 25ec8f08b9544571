//! What happened to nodes during a trial.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Something that happened to a node, on the trial's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeEvent {
    /// When it happened or began, in seconds, like `t_s` of the trial's series.
    pub at_s: f64,
    /// When it was complete, such as a restarted node ready; `None` if it never was.
    pub done_s: Option<f64>,
    /// The node, from 1.
    pub node: u32,
    /// What happened.
    pub what: NodeEventKind,
    /// Why: the study's own words, or how the node died.
    pub reason: String,
}

/// What happened to a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeEventKind {
    /// Killed by dyno, as the study asks.
    Killed,
    /// Restarted by dyno, as the study asks.
    Restarted,
    /// Died, and the study did not expect it.
    Died,
    /// Became the primary that virtual users follow.
    BecamePrimary,
}

impl From<plan::Action> for NodeEventKind {
    fn from(action: plan::Action) -> Self {
        match action {
            plan::Action::Kill => Self::Killed,
            plan::Action::Restart => Self::Restarted,
        }
    }
}

impl fmt::Display for NodeEventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Killed => "killed",
            Self::Restarted => "restarted",
            Self::Died => "died",
            Self::BecamePrimary => "became the primary",
        })
    }
}

/// A line for people: `at 12.0 s: server 1 restarted, ready after 1.4 s`.
impl fmt::Display for NodeEvent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at {:.1} s: server {} {}",
            self.at_s, self.node, self.what
        )?;
        match (self.what, self.done_s) {
            (NodeEventKind::Restarted, Some(done_s)) => {
                write!(f, ", ready after {:.1} s", done_s - self.at_s)
            }
            (NodeEventKind::Restarted, None) => f.write_str(", not ready again"),
            (NodeEventKind::Killed | NodeEventKind::Died | NodeEventKind::BecamePrimary, _) => {
                Ok(())
            }
        }
    }
}
