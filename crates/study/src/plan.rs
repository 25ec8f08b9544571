//! What a study means.

use std::time::Duration;

use crate::spec::{DataSpec, LoadSpec, ServerSpec};

/// An ordered list of trials.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The question of the study.
    pub title: String,
    /// Why it is made.
    pub description: Option<String>,
    /// At least one, in the order in which they run.
    pub trials: Vec<Trial>,
    /// Dotted names of the keys in which trials differ, slowest first.
    pub axes: Vec<String>,
}

/// One point of a study.
#[derive(Debug, Clone, PartialEq)]
pub struct Trial {
    /// From 1.
    pub number: usize,
    /// What sets it apart, for people: `threads=4`; `single` in a study without a sweep.
    pub label: String,
    /// The server under load.
    pub server: ServerSpec,
    /// What the server holds.
    pub data: DataSpec,
    /// What virtual users do.
    pub load: LoadSpec,
    /// Its value on each axis: (dotted name, value as text), in the order of [`Plan::axes`].
    pub point: Vec<(String, String)>,
}

impl Plan {
    /// The time under load: warm-up and measurement of every trial. Starting
    /// servers and loading data come on top.
    pub fn duration_estimate(&self) -> Duration {
        let each = self
            .trials
            .iter()
            .map(|t| t.load.warmup.saturating_add(t.load.time));
        each.fold(Duration::ZERO, Duration::saturating_add)
    }
}
