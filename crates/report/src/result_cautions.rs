//! Cautions that follow from the warnings and findings of a result, for answers that use it.

use measure::finding::Level;
use measure::result::RunResult;
use measure::summary::TrialSummary;

use crate::findings;
use crate::list::distinct;

/// Cautions about what a result lacks, the trials that an answer uses, and the host that they ran
/// on; each with the name of the result, if there are several.
pub(crate) fn of(name: Option<&str>, result: &RunResult, trials: &[&TrialSummary]) -> Vec<String> {
    let all = findings::left_out(result).into_iter();
    let all = all.chain(warned(trials)).chain(spoilt(result));
    let named = all.map(|words| match name {
        Some(name) => format!("{name}: {words}"),
        None => words,
    });
    named.collect()
}

/// Which warnings there are, and how many trials have each.
fn warned(trials: &[&TrialSummary]) -> Option<String> {
    let with_any = trials.iter().filter(|trial| !trial.warnings.is_empty());
    let (count, all) = (with_any.count(), trials.len());
    let kinds_of = |trial: &TrialSummary| {
        let kinds = trial.warnings.iter().map(|warning| warning.in_short());
        distinct(kinds)
    };
    let kinds: Vec<&str> = trials.iter().flat_map(|trial| kinds_of(trial)).collect();
    let told = distinct(kinds.iter().copied()).into_iter().map(|kind| {
        let such = kinds.iter().filter(|other| **other == kind).count();
        format!("{kind} ({such})")
    });
    let told = told.collect::<Vec<_>>().join(", ");
    (count > 0).then(|| {
        format!("{count} of {all} trials have warnings: {told}. See the report of the result.")
    })
}

/// What a look at the host found before the first load.
fn spoilt(result: &RunResult) -> Option<String> {
    let severe = result.findings.iter();
    let severe = severe.filter(|finding| finding.level == Level::Severe);
    let ids = distinct(severe.map(|finding| finding.id.as_str()));
    (!ids.is_empty()).then(|| {
        format!(
            "Conditions that distort measurements: {}. See the report of the result.",
            ids.join(", ")
        )
    })
}

/// Throughput says nothing of a server that was given its load.
pub(crate) fn at_a_rate<'a>(trials: impl IntoIterator<Item = &'a TrialSummary>) -> Option<String> {
    let mut trials = trials.into_iter();
    trials.any(|trial| trial.setup.planned.load.rate.is_some()).then(|| {
        "Some trials had a fixed arrival rate, which determines their throughput: compare their \
         response times."
            .to_owned()
    })
}
