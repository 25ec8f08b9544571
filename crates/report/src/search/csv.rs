//! The steps of searches, for spreadsheets and programs.

use measure::find_max::StepCaveat;
use measure::result::RunResult;

use crate::csv_writer::Csv;
use crate::keys;

/// A line for each step of each search; nothing is rounded. `None` without a search.
pub fn csv(result: &RunResult) -> Option<String> {
    let first = result.searches.first()?;
    let mut keys = keys::axes(result);
    keys.retain(|key| first.point.contains_key(*key));
    let mut csv = Csv::default();
    keys.iter().for_each(|name| csv.text(name));
    csv.names("repeat column limit_ms capacity_per_s trial rate_per_s achieved_per_s");
    csv.names("mean_ms value_ms long verdict caveats");
    csv.end_line();
    for search in &result.searches {
        for step in &search.steps {
            for key in &keys {
                csv.value(search.point.get(*key));
            }
            csv.count(search.repeat);
            csv.text(&search.column);
            csv.number(Some(search.limit_ms));
            csv.number(search.capacity_per_s);
            csv.count(step.trial);
            csv.number(Some(step.rate_per_s));
            csv.number(step.achieved_per_s);
            csv.number(step.mean_ms);
            csv.number(step.value_ms);
            csv.text(if step.long { "true" } else { "false" });
            csv.text(&step.verdict.to_string());
            let caveats: Vec<String> = step.caveats.iter().map(StepCaveat::to_string).collect();
            csv.text(&caveats.join("; "));
            csv.end_line();
        }
    }
    Some(csv.text)
}
