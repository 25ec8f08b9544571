//! Result directories with numbers of one's choice, tables of cases, and what explains a failure.

use std::path::Path;

use measure::fault::FaultRecord;
use measure::instance::NodeEventKind;
use measure::result::RunResult;
use measure::summary::TrialSummary;
use store::ResultDir;

/// Writes a result as a run leaves it, but for the seconds of its trials.
pub fn keep(dir: &Path, result: &RunResult, study: &str) {
    let kept = ResultDir::create(Some(dir), &result.title, study, &result.environment).unwrap();
    for trial in &result.trials {
        let planned = &trial.setup.planned;
        let writer = kept.trial(planned.number, &planned.label).unwrap();
        writer.finish(trial).unwrap();
    }
    kept.write_result(result).unwrap();
}

/// The lines of a table `WORDS => TEXT & TEXT`: what is typed, and what the answer must contain.
pub fn cases(table: &str) -> impl Iterator<Item = (&str, Vec<&str>)> {
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    let mut cases = lines.map(|line| {
        let (words, texts) = line.split_once("=>").expect(line);
        (words.trim(), texts.split(" & ").map(str::trim).collect())
    });
    let first = cases.next().expect("a table without cases");
    std::iter::once(first).chain(cases)
}

/// What explains a failed assertion about a trial.
pub fn shown(trial: &TrialSummary) -> String {
    let (label, outcome) = (&trial.setup.planned.label, &trial.outcome);
    let (faults, events, ledgers) = (&trial.faults, &trial.events, &trial.ledgers);
    format!("{label}: {outcome:?} {faults:#?} {events:#?} {ledgers:#?}")
}

/// Whether a fault took effect and was healed, each no sooner than it was asked for, without an error.
pub fn is_whole(fault: &FaultRecord) -> bool {
    let healing = [fault.heal_asked_s, fault.healed_s];
    let times = [Some(fault.asked_s), fault.effect_s]
        .into_iter()
        .chain(healing);
    let times: Vec<f64> = times.flatten().collect();
    times.len() == 4 && times.is_sorted() && fault.error.is_none()
}

/// The members that became the primary, in order of time.
pub fn primaries(trial: &TrialSummary) -> Vec<u32> {
    let events = trial.events.iter();
    let became = events.filter(|event| event.what == NodeEventKind::BecamePrimary);
    became.map(|event| event.node).collect()
}

/// A study of two users who update a small server; the text goes on in `[load]`.
pub fn updates(title: &str, time: &str) -> String {
    format!(
        r#"
title = "{title}"

[server]
engine = "mariadb"
config.innodb_buffer_pool_size = "32M"

[data]
rows = 500

[load]
workload = "oltp_update_non_index"
threads = 2
think = "20ms"
warmup = "0s"
time = "{time}"
"#
    )
}
