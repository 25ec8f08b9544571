//! What ran, where, with which data and settings, and how to reproduce it.

use measure::instance::{Reset, ResetHow};
use measure::result::RunResult;
use measure::setup::Ended;
use plan::shown_bytes;

use crate::describe::{self, settings};
use crate::grid::{Columns, Grid};
use crate::host::host;
use crate::list::{distinct, listed};
use crate::sheet::{Block, Facts, Section, folded, known};
use crate::{doctor, number, point};

/// The setup; keys that differ between trials have all their values.
pub(super) fn section(result: &RunResult) -> Section {
    let mut blocks = vec![Block::Facts(facts(result))];
    let data = data(result);
    if !data.is_empty() {
        blocks.push(Block::Heading("Data".to_owned()));
        blocks.push(Block::Facts(data));
    }
    Section::named("setup", "Setup", blocks)
}

pub(super) fn environment(result: &RunResult) -> Section {
    let mut blocks = vec![Block::Facts(host(&result.environment))];
    blocks.extend(folded([
        ("Other findings of dyno doctor", doctor::others(result)),
        ("Server settings", settings_grid(result)),
    ]));
    Section::named("environment", "Environment", blocks)
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
    Section::named("again", "Reproduce", blocks)
}

fn facts(result: &RunResult) -> Facts {
    let setups = point::of_result(result).into_iter();
    let setups = setups.flat_map(|point| point.trials);
    let facts = describe::of_all(setups.map(|trial| describe::setup(&trial.setup)));
    let facts = facts.into_iter();
    let mut facts: Facts = facts
        .map(|(name, values)| (name, listed(&values)))
        .collect();
    let order = Some(&result.design.order).filter(|order| !order.is_empty());
    facts.extend(known([
        ("Ended early by precision", saved_by_precision(result)),
        ("Order of trials", order.cloned()),
    ]));
    facts
}

/// The time saved by ending trials as soon as they were precise enough.
fn saved_by_precision(result: &RunResult) -> Option<String> {
    let trials = result.trials.iter();
    let may = trials.filter(|trial| trial.setup.planned.load.until.is_some());
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

/// How the servers got their data, and what the templates saved; empty when no trial says.
fn data(result: &RunResult) -> Facts {
    let trials_of = result.trials.iter();
    let resets: Vec<&Reset> = trials_of.filter_map(|trial| trial.reset.as_ref()).collect();
    let of = |how| resets.iter().copied().filter(move |reset| reset.how == how);
    let timed = |how| {
        let times: Vec<f64> = of(how).map(|reset| reset.took_s).collect();
        durations(&times)
    };
    let told = |how, words| {
        let count = of(how).count();
        (count > 0).then(|| format!("{}: {words}", trials(count)))
    };
    let settled: Vec<f64> = resets.iter().filter_map(|reset| reset.settle_s).collect();
    // What building would have taken in each copied trial, less what copying took.
    let saved: f64 = of(ResetHow::Copied)
        .map(|reset| reset.build_s - reset.took_s)
        .sum();
    let sizes = distinct(resets.iter().map(|reset| shown_bytes(reset.bytes)));
    let checksums = distinct(resets.iter().filter_map(|reset| reset.checksum.clone()));
    let if_any = |values: Vec<String>| (!values.is_empty()).then(|| listed(&values));
    let built = timed(ResetHow::BuiltAndCopied);
    let settled = durations(&settled);
    let saved = (saved > 0.0).then(|| number::duration(saved));
    let kept = "the data left by the previous trial";
    let found = "the server was running already; missing rows were loaded";
    known([
        ("Copied from a template", timed(ResetHow::Copied)),
        ("Template built, then copied", built),
        ("Rebuilt", timed(ResetHow::Rebuilt)),
        ("Kept", told(ResetHow::Kept, kept)),
        ("Existing server", told(ResetHow::Found, found)),
        ("Flushed and dropped from the page cache", settled),
        ("Time saved by templates", saved),
        ("Formation of each cluster", formed(result)),
        ("Data per server", if_any(sizes)),
        ("Row checksum", if_any(checksums)),
    ])
}

fn trials(count: usize) -> String {
    number::counted(count as u64, "trial")
}

/// The mean, and the longest, of some times.
fn mean_and_most(times: &[f64]) -> Option<[String; 2]> {
    let most = times.iter().copied().reduce(f64::max)?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    Some([mean, most].map(number::duration))
}

fn durations(times: &[f64]) -> Option<String> {
    let [mean, most] = mean_and_most(times)?;
    let trials = trials(times.len());
    Some(match times.len() {
        1 => format!("{trials}, {mean} for all its servers"),
        _ => format!("{trials}, {mean} on average for all servers of a trial, at most {most}"),
    })
}

fn formed(result: &RunResult) -> Option<String> {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let times: Vec<f64> = instances.filter_map(|one| one.formation_s).collect();
    let [mean, most] = mean_and_most(&times)?;
    Some(match times.len() {
        1 => mean,
        several => format!("{mean} on average, at most {most} ({several} clusters)"),
    })
}

fn settings_grid(result: &RunResult) -> Grid {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let rows: Vec<_> = settings(instances).into_iter().collect();
    let columns = Columns::<&(&str, Vec<&str>)>::new()
        .key("setting", |(name, _)| *name)
        .words("value", |(_, values)| {
            let shown = values.iter();
            let shown = shown.map(|value| if value.is_empty() { "(empty)" } else { *value });
            listed(&shown.collect::<Vec<_>>())
        });
    let caption = format!("{} server settings differ from their defaults.", rows.len());
    columns.grid(caption, &rows)
}
