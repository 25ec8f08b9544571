//! A script's own reports.

use std::sync::Arc;

use mlua::{ObjectLike, Table};

use super::state::State;
use super::{Common, ScriptError};

/// The fields of a report by name, such as `events` and `latency_pct`. Times are in seconds; counts
/// are those of the interval.
pub type Stat<'a> = [(&'a str, f64)];

/// The script in a state of its own, for its hooks `report_intermediate` and `report_cumulative`.
pub struct Reporter {
    state: State,
    hooks: Table,
}

impl Reporter {
    pub(super) fn new(common: &Arc<Common>) -> mlua::Result<Self> {
        let state = State::new(common, 0, None)?;
        let hooks = state.core.call_function("hooks", ())?;
        Ok(Self { state, hooks })
    }

    /// Whether the script has this hook, which replaces the report.
    pub fn has(&self, hook: &str) -> bool {
        self.hooks.contains_key(hook).unwrap_or_default()
    }

    /// Has the script print a report. An error is the script's own.
    pub fn report(&self, hook: &str, stat: &Stat<'_>) -> Result<(), ScriptError> {
        let stat = self.state.lua.create_table_from(stat.iter().copied())?;
        Ok(self.hooks.call_function(hook, stat)?)
    }

    /// Has the script print what comes after its last report.
    pub fn finish(self) -> Result<(), ScriptError> {
        Ok(self.state.core.call_function("finish_report", ())?)
    }
}
