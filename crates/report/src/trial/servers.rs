//! Each server of a trial with several.

use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::grid::{Grid, heads};
use crate::number;

/// Each server's part, where there are several.
pub(super) fn grid(trial: &TrialSummary) -> Grid {
    let all = trial.instances.as_slice();
    let early = all.iter().any(|one| one.outcome != Outcome::Completed);
    let rows = all.iter().filter(|_| all.len() > 1).map(|instance| {
        let time = |of: fn(LatencySummary) -> f64| number::maybe(instance.response_ms.map(of));
        let mut row = vec![
            instance.number.to_string(),
            number::count(instance.transactions.count),
            number::estimate(instance.transactions.per_s),
            number::estimate(instance.response_ms.map(|times| times.mean)),
            time(|times| times.p95),
            time(|times| times.p99),
            time(|times| times.max),
            number::count(instance.errors.saturating_sub(instance.restarts)),
            number::count(instance.restarts),
        ];
        row.extend(early.then(|| instance.outcome.to_string()));
        row.push(instance.server.clone());
        row
    });
    let titles = "server transactions tps mean p95 p99 max errors restarts";
    let mut titles: Vec<&str> = titles.split(' ').collect();
    titles.extend(early.then_some("ended"));
    titles.push("address");
    Grid {
        caption: "Each server under its own load, all at the same time. Response times in \
                  milliseconds."
            .to_owned(),
        heads: heads(titles),
        keys: 1,
        words: 1 + usize::from(early),
        rows: rows.collect(),
        ..Grid::default()
    }
}
