//! A trial: what happened, and a table for each view of it.

mod events;
mod metrics;
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
        events::grid(trial),
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
        ("Metrics", metrics::of_all(trial)),
        ("Metrics of each server", metrics::by_server(trial)),
    ];
    for (summary, grid) in details {
        blocks.extend(tables([grid]).map(|table| Block::folded(summary, table)));
    }
    blocks
}

fn facts(trial: &TrialSummary) -> Facts {
    let mut facts = Facts::new();
    if trial.outcome != Outcome::Completed {
        facts.push(("Ended early", trial.outcome.to_string()));
    }
    facts.extend(
        trial
            .verdict
            .as_ref()
            .map(|verdict| ("Verdict", verdict.to_string())),
    );
    facts.extend([
        ("Measured", number::seconds(trial.measured_s)),
        ("Transactions", rate(trial.transactions)),
        (
            "Statements",
            format!(
                "{}: {} reads, {} writes, {} others",
                rate(trial.statements),
                number::count(trial.reads),
                number::count(trial.writes),
                number::count(trial.others)
            ),
        ),
        (
            "Errors",
            format!(
                "{}; {}",
                number::count(trial.failures()),
                number::counted(trial.restarts(), "restart")
            ),
        ),
        ("Generator", describe::generator(trial)),
    ]);
    facts.extend(trial.started_at.clone().map(|time| ("Started", time)));
    facts.extend(describe::unseen(trial).map(|unseen| ("Server", unseen)));
    facts.extend(describe::steady(trial).map(|steady| ("Steady", steady)));
    facts.extend(describe::little(trial).map(|little| ("Little's law", little)));
    if let Some(share) = trial.lookups.missed_share.filter(|share| *share > 0.0) {
        facts.push(("Lookups without a row", number::percent(share)));
    }
    facts.extend(trial.space.map(|space| ("Space", describe::space(&space))));
    facts.extend(trial.ended.map(|ended| ("Ended", ended.to_string())));
    if trial.reconnects > 0 {
        facts.push(("Reconnects", number::count(trial.reconnects)));
    }
    facts.extend(describe::unfinished(trial).map(|unfinished| ("Unfinished", unfinished)));
    facts
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
