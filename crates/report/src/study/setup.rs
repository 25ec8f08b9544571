//! What ran, where, and how to reproduce it.

use measure::ended::Ended;
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::describe::{self, Facts};
use crate::doctor;
use crate::environment as host;
use crate::keys;
use crate::list::{distinct, listed};
use crate::number;
use crate::provenance;
use crate::settings;
use crate::sheet::{Block, Section, tables};

/// The setup; keys that differ between trials have all their values.
pub(super) fn section(result: &RunResult) -> Section {
    let mut blocks = vec![Block::facts(facts(result))];
    let data = provenance::facts(result);
    if !data.is_empty() {
        blocks.push(Block::heading("Data"));
        blocks.push(Block::facts(data));
    }
    Section {
        id: "setup",
        ..Section::new("Setup", blocks)
    }
}

pub(super) fn environment(result: &RunResult) -> Section {
    let mut blocks = vec![Block::facts(host::facts(&result.environment))];
    let details = [
        ("Other findings of dyno doctor", doctor::others(result)),
        ("Server settings", settings::grid(result)),
    ];
    for (summary, grid) in details {
        blocks.extend(tables([grid]).map(|table| Block::folded(summary, table)));
    }
    Section {
        id: "environment",
        ..Section::new("Environment", blocks)
    }
}

pub(super) fn again(result: &RunResult, study: Option<&str>) -> Section {
    let code = |label, code: &str| Block::Code {
        label,
        code: code.to_owned(),
    };
    let mut blocks = vec![code("Command line", &result.environment.command)];
    let study = study.filter(|study| !study.trim().is_empty());
    blocks.extend(study.map(|study| Block::folded("The study as run", code("Study file", study))));
    blocks.push(Block::Words(
        "The result directory has the same numbers unrounded, with a line for each trial, in \
         results.csv, and this report as plain text in report.md."
            .to_owned(),
    ));
    Section {
        id: "again",
        ..Section::new("Reproduce", blocks)
    }
}

fn facts(result: &RunResult) -> Facts {
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let points = keys::groups(&trials, &keys::axes(result)).into_iter();
    let setups = points.flat_map(|point| point.trials);
    let setups: Vec<Facts> = setups.map(|trial| describe::setup(&trial.setup)).collect();
    let all = || setups.iter().flatten();
    let names = distinct(all().map(|(name, _)| *name)).into_iter();
    let mut facts: Facts = names
        .map(|name| {
            let values = all().filter(|(other, _)| *other == name);
            (name, listed(&distinct(values.map(|(_, value)| value))))
        })
        .collect();
    facts.extend(saved(result).map(|words| ("Ended early by precision", words)));
    let order = &result.design.order;
    if !order.is_empty() {
        facts.push(("Order of trials", order.clone()));
    }
    facts
}

/// The time saved by ending trials as soon as they were precise enough.
fn saved(result: &RunResult) -> Option<String> {
    let may = result
        .trials
        .iter()
        .filter(|trial| trial.setup.planned.load.until.is_some());
    let ended = may.clone().filter_map(|trial| match &trial.ended {
        Some(ended @ Ended::Sure { .. }) => Some(ended.saved_s()),
        _ => None,
    });
    let saved: Vec<f64> = ended.collect();
    let longest = may
        .clone()
        .filter_map(|trial| trial.setup.planned.load.longest());
    let longest = longest.map(|time| time.as_secs_f64()).sum::<f64>();
    (longest > 0.0).then(|| {
        format!(
            "{} of {} trials; saved {} of at most {} of measurement",
            saved.len(),
            may.count(),
            number::duration(saved.iter().sum::<f64>() + 0.0),
            number::duration(longest)
        )
    })
}
