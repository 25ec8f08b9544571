//! What may happen to a node during a measurement.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::choice::choice;
use crate::duration::text;

/// Something that a study does to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// When, from the start of the measurement.
    #[serde(with = "text")]
    pub at: Duration,
    /// What is done.
    pub action: Action,
    /// The node it is done to, from 1.
    pub node: u32,
}

choice! {
    /// What an event does to a node.
    #[derive(PartialOrd, Ord)]
    Action {
        /// Kills it, as `kill -9` does.
        Kill = "kill",
        /// Stops it unless it is dead, and starts it again on the same data.
        Restart = "restart",
    }
}
