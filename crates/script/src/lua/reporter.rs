//! A script's own reports.

use std::sync::{Arc, Mutex};

use mlua::{Function, Table};

use super::declared::{capture, take};
use super::state::State;
use super::{Common, ScriptError};

/// The fields of a report by name, such as `events` and `latency_pct`. Times are in seconds; counts
/// are those of the interval.
pub type Stat<'a> = [(&'a str, f64)];

/// The script in a state of its own, for its hooks `report_intermediate` and `report_cumulative`.
pub struct Reporter {
    state: State,
    hooks: Table,
    printed: Arc<Mutex<String>>,
}

impl Reporter {
    pub(super) fn new(common: &Arc<Common>) -> Result<Self, ScriptError> {
        let (print, printed) = capture();
        let state = State::new(common, Some(&print), None)?;
        let sysbench: Table = state.load()?.get("sysbench")?;
        take(&printed);
        Ok(Self {
            hooks: sysbench.get("hooks")?,
            state,
            printed,
        })
    }

    /// Whether the script has this hook, which replaces the report.
    pub fn has(&self, hook: &str) -> bool {
        self.hooks.contains_key(hook).unwrap_or_default()
    }

    /// What the script prints for a report. An error is the script's own.
    pub fn report(&self, hook: &str, stat: &Stat<'_>) -> Result<String, ScriptError> {
        let stat = self.state.lua.create_table_from(stat.iter().copied())?;
        self.hooks.get::<Function>(hook)?.call::<()>(stat)?;
        Ok(take(&self.printed))
    }

    /// What the script prints after its last report.
    pub fn finish(self) -> Result<String, ScriptError> {
        let finish: Function = self.state.core.get("finish_report")?;
        finish.call::<()>(())?;
        Ok(take(&self.printed))
    }
}
