//! The steps of searches, for spreadsheets and programs.

use measure::find_max::{FoundMax, SearchStep, StepCaveat};
use measure::result::RunResult;

use crate::columns::Columns;
use crate::keys;

/// A line for each step of each search; nothing is rounded. `None` without a search.
pub fn csv(result: &RunResult) -> Option<String> {
    let first = result.searches.first()?;
    let axes = keys::axes(result).into_iter();
    let axes = axes.filter(|key| first.point.contains_key(*key));
    let columns = Columns::<(&FoundMax, &SearchStep)>::new()
        .each(axes, |columns, key| {
            columns.with(key, move |(search, _)| search.point.get(key))
        })
        .with("repeat", |(search, _)| search.repeat)
        .with("column", |(search, _)| &search.column)
        .with("limit_ms", |(search, _)| search.limit_ms)
        .with("capacity_per_s", |(search, _)| search.capacity_per_s)
        .with("trial", |(_, step)| step.trial)
        .with("rate_per_s", |(_, step)| step.rate_per_s)
        .with("achieved_per_s", |(_, step)| step.achieved_per_s)
        .with("mean_ms", |(_, step)| step.mean_ms)
        .with("value_ms", |(_, step)| step.value_ms)
        .with("long", |(_, step)| step.long)
        .with("verdict", |(_, step)| step.verdict.to_string())
        .with("caveats", |(_, step)| {
            let caveats: Vec<String> = step.caveats.iter().map(StepCaveat::to_string).collect();
            caveats.join("; ")
        });
    let searches = result.searches.iter();
    Some(columns.csv(searches.flat_map(|search| {
        let steps = search.steps.iter();
        steps.map(move |step| (search, step))
    })))
}
