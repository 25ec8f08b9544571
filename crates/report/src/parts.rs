//! The workloads of a mix, and the phases of a load: a table of each, and a file of all trials.

use measure::parts::PartSummary;
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::grid::{Columns, Grid};
use crate::list::with_parts;

type Row<'a> = (&'a TrialSummary, &'a PartSummary);

/// `of` says what the parts are.
pub(crate) fn table<'a>(of: &str, trial: &'a TrialSummary, parts: &'a [PartSummary]) -> Grid {
    let columns = Columns::<Row<'a>>::new().key(of, |(_, part)| &part.name);
    let caption = format!("By {of}, with shares of all transactions. Times in milliseconds.");
    numbers(columns).grid(caption, parts.iter().map(|part| (trial, part)))
}

fn numbers<'a>(columns: Columns<'a, Row<'a>>) -> Columns<'a, Row<'a>> {
    columns
        .with("transactions", |(_, part)| part.transactions.count)
        .with("share %", |(trial, part)| {
            let all = Some(trial.transactions.count).filter(|all| *all > 0)?;
            Some(100.0 * part.transactions.count as f64 / all as f64)
        })
        .with("tps", |(_, part)| part.transactions.per_s)
        .with("mean", |(_, part)| Some(part.response_ms?.mean))
        .with("p95", |(_, part)| Some(part.response_ms?.p95))
        .with("p99", |(_, part)| Some(part.response_ms?.p99))
        .with("max", |(_, part)| Some(part.response_ms?.max))
}

/// These parts of all trials; `None` if there are none.
pub fn csv(result: &RunResult, of: fn(&TrialSummary) -> &[PartSummary]) -> Option<String> {
    let rows: Vec<Row<'_>> = with_parts(&result.trials, of).collect();
    let columns = Columns::<Row<'_>>::new()
        .with("number", |(trial, _)| trial.setup.planned.number)
        .with("label", |(trial, _)| &trial.setup.planned.label)
        .with("name", |(_, part)| &part.name)
        .with("start_s", |(_, part)| part.start_s);
    let columns = numbers(columns).with("tps.half_width", |(_, part)| {
        part.transactions.per_s?.half_width
    });
    (!rows.is_empty()).then(|| columns.csv(rows))
}
