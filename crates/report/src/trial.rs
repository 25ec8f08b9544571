//! A trial: what happened, and a table for each view of it.

mod tables;

use measure::setup::Outcome;
use measure::summary::{Rate, TrialSummary};

use crate::describe::{self, Facts};
use crate::ledger;
use crate::number;
use crate::recovery;
use crate::sheet::{Block, tables};

/// What every format says of a trial.
pub(crate) fn blocks(trial: &TrialSummary) -> Vec<Block> {
    let mut blocks = vec![Block::facts(facts(trial))];
    let [ledger, anomalies] = ledger::of_trial(trial);
    blocks.extend(tables([
        self::tables::times(trial),
        self::tables::events(trial),
        recovery::phases(trial),
        recovery::service(trial),
        recovery::costs(trial),
        ledger,
        anomalies,
        self::tables::servers(trial),
        self::tables::statements(trial),
        self::tables::errors(trial),
    ]));
    let details = [
        ("Metrics", self::tables::metrics(trial)),
        (
            "Metrics of each server",
            self::tables::metrics_by_server(trial),
        ),
    ];
    for (summary, grid) in details {
        blocks.extend(tables([grid]).map(|table| Block::folded(summary, table)));
    }
    blocks
}

fn facts(trial: &TrialSummary) -> Facts {
    let is_early = trial.outcome != Outcome::Completed;
    let [reads, writes, others] = [trial.reads, trial.writes, trial.others].map(number::count);
    let statements = rate(trial.statements);
    let statements = format!("{statements}: {reads} reads, {writes} writes, {others} others");
    let restarts = number::counted(trial.restarts(), "restart");
    let errors = format!("{}; {restarts}", number::count(trial.failures()));
    let missed = trial.lookups.missed_share.filter(|share| *share > 0.0);
    let reconnects = Some(trial.reconnects).filter(|count| *count > 0);
    let facts = [
        ("Ended early", is_early.then(|| trial.outcome.to_string())),
        ("Verdict", trial.verdict.as_ref().map(ToString::to_string)),
        ("Measured", Some(number::seconds(trial.measured_s))),
        ("Transactions", Some(rate(trial.transactions))),
        ("Statements", Some(statements)),
        ("Errors", Some(errors)),
        ("Generator", Some(describe::generator(trial))),
        ("Started", trial.started_at.clone()),
        ("Server", describe::unseen(trial)),
        ("Steady", describe::steady(trial)),
        ("Little's law", describe::little(trial)),
        ("Lookups without a row", missed.map(number::percent)),
        ("Space", trial.space.as_ref().map(describe::space)),
        ("Ended", trial.ended.as_ref().map(ToString::to_string)),
        ("Reconnects", reconnects.map(number::count)),
        ("Unfinished", describe::unfinished(trial)),
    ];
    let known = facts.into_iter();
    known
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}

/// `100,235 (1,671 ± 8/s, ± 0.5 %)`.
fn rate(rate: Rate) -> String {
    let relative = rate.per_s.and_then(|per_s| per_s.relative());
    let relative = relative.map_or(String::new(), |share| {
        format!(", ± {}", number::percent(share))
    });
    format!(
        "{} ({}/s{relative})",
        number::count(rate.count),
        number::estimate(rate.per_s)
    )
}
