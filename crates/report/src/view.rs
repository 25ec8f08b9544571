//! What the page says, ready to be filled in.

use measure::result::Environment;
use measure::summary::{LatencySummary, TrialSummary};

use crate::describe;
use crate::number;

/// Names and values.
pub(crate) type Facts = Vec<(&'static str, String)>;

/// A warning and the trials that have it.
#[derive(Debug)]
pub(crate) struct WarningView {
    pub(crate) text: String,
    pub(crate) trials: String,
}

/// The table of all trials.
#[derive(Debug)]
pub(crate) struct Results {
    /// How many columns at the start name the trial.
    pub(crate) keys: Vec<String>,
    pub(crate) rows: Vec<Row>,
}

/// One trial's row.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) point: Vec<String>,
    pub(crate) numbers: Vec<String>,
}

/// The result in a sentence or two.
pub(crate) fn lead(trials: &[TrialSummary]) -> String {
    let per_s = |trial: &TrialSummary| trial.transactions.per_s.map_or(0.0, |per_s| per_s.value);
    let best = trials.iter().max_by(|a, b| per_s(a).total_cmp(&per_s(b)));
    let Some(best) = best else {
        return "No trial has ended yet.".to_owned();
    };
    let Some(response) = best.response_ms else {
        return "No transaction ended while it was measured.".to_owned();
    };
    let numbers = format!(
        "{} transactions per second, with a mean response time of {} ms and a 99th percentile of \
         {} ms",
        number::estimate(best.transactions.per_s),
        number::estimate(Some(response.mean)),
        number::value(response.p99)
    );
    // A number stays on a line with its error and its unit.
    let numbers = numbers
        .replace(" ± ", "\u{a0}±\u{a0}")
        .replace(" ms", "\u{a0}ms");
    let setup = &best.setup;
    match trials.len() {
        1 => format!("{} gave {numbers} under {}.", setup.engine, setup.workload),
        several => format!(
            "Of {several} trials, the most throughput was at {}: {numbers}.",
            name(best, 0)
        ),
    }
}

/// Equal warnings of several trials as one.
pub(crate) fn warnings(trials: &[TrialSummary]) -> Vec<WarningView> {
    let mut views: Vec<WarningView> = Vec::new();
    for (number, trial) in trials.iter().enumerate() {
        for warning in &trial.warnings {
            let (text, trial) = (warning.to_string(), name(trial, number));
            match views.iter_mut().find(|view| view.text == text) {
                Some(view) => view.trials = format!("{}, {trial}", view.trials),
                None => views.push(WarningView {
                    text,
                    trials: trial,
                }),
            }
        }
    }
    views
}

/// The set-up; what differs between trials is listed with all its values.
pub(crate) fn setup(trials: &[TrialSummary]) -> Facts {
    let Some(first) = trials.first() else {
        return Vec::new();
    };
    let mut facts = describe::setup(&first.setup);
    for trial in trials.iter().skip(1) {
        for (fact, (_, value)) in facts.iter_mut().zip(describe::setup(&trial.setup)) {
            if !fact.1.split(" · ").any(|known| known == value) {
                fact.1 = format!("{} · {value}", fact.1);
            }
        }
    }
    facts
}

impl Results {
    pub(crate) fn of(trials: &[TrialSummary]) -> Self {
        let keys = describe::swept(trials);
        let rows = trials.iter().enumerate().map(|(place, trial)| Row {
            point: if keys.is_empty() {
                vec![name(trial, place)]
            } else {
                let value = |key: &&str| describe::point(trial, key).unwrap_or(number::ABSENT);
                keys.iter().map(|key| value(key).to_owned()).collect()
            },
            numbers: result_numbers(trial),
        });
        Self {
            rows: rows.collect(),
            keys: match keys.is_empty() {
                true => vec!["Trial".to_owned()],
                false => keys.into_iter().map(str::to_owned).collect(),
            },
        }
    }
}

fn result_numbers(trial: &TrialSummary) -> Vec<String> {
    let time = |of: fn(LatencySummary) -> f64| number::maybe(trial.response_ms.map(of));
    vec![
        number::estimate(trial.transactions.per_s),
        number::estimate(trial.response_ms.map(|response| response.mean)),
        time(|response| response.p50),
        time(|response| response.p95),
        time(|response| response.p99),
        time(|response| response.max),
        number::count(describe::error_count(trial)),
    ]
}

/// What a trial is called.
pub(crate) fn name(trial: &TrialSummary, place: usize) -> String {
    if trial.label.is_empty() {
        return format!("trial {}", place + 1);
    }
    trial.label.clone()
}

/// Where it ran; what the host did not tell is left out.
pub(crate) fn environment(environment: &Environment) -> Facts {
    let known = [
        ("dyno", Some(environment.dyno_version.clone())),
        ("Started", Some(environment.started.clone())),
        ("Host", environment.hostname.clone()),
        ("System", environment.os.clone()),
        ("Kernel", environment.kernel.clone()),
        ("CPU", environment.cpu_model.clone()),
        ("CPUs", environment.cores.map(number::count)),
        ("Memory", environment.memory_bytes.map(number::bytes)),
        ("CPU governor", environment.governor.clone()),
    ];
    let facts = known.into_iter();
    facts
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
}
