//! How the servers got their data, and what the templates saved.

use measure::instance::{Reset, ResetHow};
use measure::result::RunResult;
use plan::shown_bytes;

use crate::describe::Facts;
use crate::list::{distinct, listed};
use crate::number;

/// As names and values; empty when no trial says.
pub(crate) fn facts(result: &RunResult) -> Facts {
    let resets: Vec<&Reset> = result
        .trials
        .iter()
        .filter_map(|trial| trial.reset.as_ref())
        .collect();
    let mut facts = Facts::new();
    for how in [
        ResetHow::Copied,
        ResetHow::BuiltAndCopied,
        ResetHow::Rebuilt,
        ResetHow::Kept,
        ResetHow::Found,
    ] {
        let such: Vec<&Reset> = resets.iter().filter(|r| r.how == how).copied().collect();
        if !such.is_empty() {
            facts.push((name(how), took(how, &such)));
        }
    }
    facts.extend(settled(&resets).map(|text| ("Flushed and dropped from the page cache", text)));
    facts.extend(saved(&resets).map(|text| ("Time saved by templates", text)));
    facts.extend(formed(result).map(|text| ("Formation of each cluster", text)));
    let sizes = distinct(resets.iter().map(|reset| shown_bytes(reset.bytes)));
    let checksums = distinct(resets.iter().filter_map(|reset| reset.checksum.clone()));
    if !sizes.is_empty() {
        facts.push(("Data per server", listed(&sizes)));
    }
    if !checksums.is_empty() {
        facts.push(("Row checksum", listed(&checksums)));
    }
    facts
}

fn name(how: ResetHow) -> &'static str {
    match how {
        ResetHow::Copied => "Copied from a template",
        ResetHow::BuiltAndCopied => "Template built, then copied",
        ResetHow::Rebuilt => "Rebuilt",
        ResetHow::Kept => "Kept",
        ResetHow::Found => "Existing server",
    }
}

fn took(how: ResetHow, resets: &[&Reset]) -> String {
    let trials = trials(resets.len());
    match how {
        ResetHow::Kept => format!("{trials}: the data left by the previous trial"),
        ResetHow::Found => {
            format!("{trials}: the server was running already; missing rows were loaded")
        }
        _ => {
            let times: Vec<f64> = resets.iter().map(|reset| reset.took_s).collect();
            durations(&trials, &times)
        }
    }
}

/// How long it took to write new data to disk and drop it from the page cache.
fn settled(resets: &[&Reset]) -> Option<String> {
    let times: Vec<f64> = resets.iter().filter_map(|reset| reset.settle_s).collect();
    (!times.is_empty()).then(|| durations(&trials(times.len()), &times))
}

fn trials(count: usize) -> String {
    match count {
        1 => "1 trial".to_owned(),
        several => format!("{} trials", number::count(several as u64)),
    }
}

fn durations(trials: &str, times: &[f64]) -> String {
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let most = times.iter().copied().fold(0.0, f64::max);
    let (mean, most) = (number::duration(mean), number::duration(most));
    match times.len() {
        1 => format!("{trials}, {mean} for all its servers"),
        _ => format!("{trials}, {mean} on average for all servers of a trial, at most {most}"),
    }
}

/// How long clusters took to form.
fn formed(result: &RunResult) -> Option<String> {
    let instances = result.trials.iter().flat_map(|trial| &trial.instances);
    let times: Vec<f64> = instances.filter_map(|one| one.formation_s).collect();
    let most = times.iter().copied().reduce(f64::max)?;
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    let (mean, most) = (number::duration(mean), number::duration(most));
    Some(match times.len() {
        1 => mean,
        several => format!("{mean} on average, at most {most} ({several} clusters)"),
    })
}

/// What building would have taken in each copied trial, less what copying took.
fn saved(resets: &[&Reset]) -> Option<String> {
    let copied = resets.iter().filter(|reset| reset.how == ResetHow::Copied);
    let saved: f64 = copied.map(|reset| reset.build_s - reset.took_s).sum();
    (saved > 0.0).then(|| number::duration(saved))
}
