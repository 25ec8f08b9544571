//! What a load reports to its caller: events while it runs, then its outcome or an error.

use std::any::Any;

use measure::setup::Unfinished;
use measure::slice::Second;
use plan::Failure;
use serde::{Deserialize, Serialize};
use workload::session::SessionError;

use crate::spec::End;

#[derive(Debug, Serialize, Deserialize)]
pub enum LoadEvent {
    Connecting {
        open: u32,
    },
    /// A second has ended, or the remainder of one at the end of a phase.
    Second(Box<Second>),
    /// The load has ended and is waiting for running transactions.
    Draining {
        running: usize,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadOutcome {
    pub end: End,
    /// The transactions that were running when the load ended.
    pub unfinished: Unfinished,
}

/// Why a load could not start, or how its threads failed.
#[derive(Debug, thiserror::Error, Serialize, Deserialize)]
pub enum LoadError {
    #[error("{0}")]
    Connect(SessionError),
    /// The system could not create a thread or an event queue, or the event queue failed.
    #[error("a worker thread failed: {0}")]
    Worker(String),
    /// A thread of the load panicked with this message.
    #[error("a thread of the load panicked: {0}")]
    Panicked(String),
    /// The user interrupted the load before its first transaction.
    #[error("interrupted before the load started")]
    Interrupted,
    /// Another load that was to start together with this one could not start.
    #[error("another load could not start")]
    OtherFailed,
    /// The agents that were to run the load did not.
    #[error("{0}")]
    Agents(Failure),
}

impl From<std::io::Error> for LoadError {
    fn from(error: std::io::Error) -> Self {
        Self::Worker(error.to_string())
    }
}

impl LoadError {
    /// The error for a panic with this payload.
    pub fn panicked(payload: &(dyn Any + Send)) -> Self {
        let message = match payload.downcast_ref::<&str>() {
            Some(message) => Some(*message),
            None => payload.downcast_ref::<String>().map(String::as_str),
        };
        Self::Panicked(message.unwrap_or("no message").to_owned())
    }
}
