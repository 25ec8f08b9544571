//! One trial on a few lines, for a terminal: its headline comes last, next to the prompt.

use measure::result::RunResult;
use measure::setup::Outcome;
use measure::summary::{LatencySummary, TrialSummary};

use crate::describe;
use crate::lead;
use crate::number;
use crate::sheet::{Block, Section, Sheet};
use crate::summary::{cut, distorting};
use crate::thresholds;

/// The trial of a result that is nothing but a benchmark: a single trial without faults.
pub(crate) fn only_trial(result: &RunResult) -> Option<&TrialSummary> {
    let is_plain = |trial: &&TrialSummary| {
        trial.faults.is_empty() && trial.ledgers.is_empty() && result.searches.is_empty()
    };
    match result.trials.as_slice() {
        [only] if result.design.trials <= 1 => Some(only).filter(is_plain),
        _ => None,
    }
}

/// At most 15 lines on a terminal of 80 columns.
pub(crate) fn sheet(result: &RunResult, trial: &TrialSummary) -> Sheet {
    let mut facts = vec![("Load", load(trial)), ("Transactions", counts(trial))];
    let times = [
        ("Response", trial.response_ms),
        ("Service", trial.service_ms),
    ];
    facts.extend(
        times
            .into_iter()
            .filter_map(|(of, ms)| Some((of, self::times(&ms?)))),
    );
    if trial.outcome != Outcome::Completed {
        facts.push(("Ended early", cut(&trial.outcome.to_string())));
    }
    let verdict = trial.verdict.as_ref().map(|verdict| verdict.to_string());
    facts.extend(verdict.map(|verdict| ("Verdict", verdict)));
    facts.extend(describe::unseen(trial).map(|unseen| ("Server", unseen)));
    let first = trial.warnings.first();
    facts.extend(first.map(|warning| ("Warning", first_sentence(&warning.to_string()))));
    facts.extend(rest(result, trial));
    Sheet {
        sections: vec![
            Section::new("", vec![Block::facts(facts)]),
            headline(result),
        ],
        ..Sheet::default()
    }
}

/// The result in a sentence or two, and whether it is good enough.
pub(crate) fn headline(result: &RunResult) -> Section {
    let words = [thresholds::lead(result), Some(lead::lead(result))];
    let words: Vec<String> = words.into_iter().flatten().collect();
    Section::new("", vec![Block::Words(words.join(" "))])
}

fn load(trial: &TrialSummary) -> String {
    let (setup, planned) = (&trial.setup, &trial.setup.planned);
    let instances = match planned.topology.instances {
        1 => String::new(),
        several => format!(" on each of {several} servers"),
    };
    format!(
        "{}, {}{instances}, {}; {} of {}; {} after {} of warm-up",
        planned.load.workload.value,
        number::counted(planned.load.threads.into(), "virtual user"),
        planned.load.pace(),
        number::counted(setup.tables.into(), "table"),
        number::counted(planned.data.rows, "row"),
        number::seconds(trial.measured_s),
        number::seconds(planned.load.warmup.as_secs_f64()),
    )
}

fn counts(trial: &TrialSummary) -> String {
    format!(
        "{} ({}), {}, {}",
        number::count(trial.transactions.count),
        number::counted(trial.statements.count, "statement"),
        number::counted(trial.failures(), "error"),
        number::counted(trial.restarts(), "restart"),
    )
}

fn times(ms: &LatencySummary) -> String {
    format!(
        "mean {} ms, median {}, p95 {}, p99 {}, max {}",
        number::value(ms.mean.value),
        number::value(ms.p50),
        number::value(ms.p95),
        number::value(ms.p99),
        number::value(ms.max),
    )
}

/// The other warnings in short, and what the host may distort.
fn rest(result: &RunResult, trial: &TrialSummary) -> Option<(&'static str, String)> {
    let warnings = trial.warnings.iter().skip(1);
    let warnings: Vec<&str> = warnings.map(|warning| warning.in_short()).collect();
    let warnings = (!warnings.is_empty()).then(|| warnings.join(", "));
    let parts: Vec<String> = warnings.into_iter().chain(distorting(result)).collect();
    (!parts.is_empty()).then(|| {
        let parts = parts.join("; ");
        let parts = parts.trim_end_matches('.');
        ("Also", format!("{parts} (--verbose, report)"))
    })
}

/// What is wrong, without what to do about it.
fn first_sentence(text: &str) -> String {
    let first = text.split_once(". ").map_or(text, |(first, _)| first);
    cut(first.trim_end_matches('.'))
}
