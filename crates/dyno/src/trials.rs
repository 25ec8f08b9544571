//! Runs the trials of a study, or the searches in their place.

use std::sync::atomic::{AtomicBool, Ordering};

use ::report::compare::too_few_starts;
use lab::{Lab, Run, Trial};

use crate::cli::OutputArgs;
use crate::failure::Failure;
use crate::results::Results;
use crate::thresholds::Thresholds;

/// Runs trials and concludes their result; `locate` adds the cause of a failure in the study.
pub(crate) fn run(
    lab: &mut Lab,
    trials: &[Trial],
    mut results: Results,
    thresholds: &Thresholds,
    output: &OutputArgs,
    interrupted: &AtomicBool,
    locate: impl Fn(Failure) -> Failure,
) -> Result<(), Failure> {
    let searches = trials.iter().any(|t| t.planned.load.find_max.is_some());
    let mut known = Vec::new();
    match searches {
        true => known.extend_from_slice(&results.result.trials),
        false => results
            .screen
            .expect(trials.iter().map(Trial::load_time).sum()),
    }
    let mut run = Run {
        observer: &mut results,
        interrupted,
    };
    let ran = match searches {
        true => lab::find_max(lab, trials, known, &mut run),
        false => lab::run(lab, trials, &mut run),
    };
    results.screen.finish_stage();
    let ran = ran.map_err(|failure| match interrupted.load(Ordering::Relaxed) {
        true => locate(failure),
        false => with_starts_left(locate(failure), &results),
    });
    if results.result.trials.is_empty() {
        results.discard_if_empty();
        return ran;
    }
    if searches {
        results.set_planned(results.result.trials.len());
    }
    // The first error is the cause of the others.
    ran.and(results.conclude(thresholds, output))
}

/// Adds to a failure how many starts completed, if they are too few for a look.
fn with_starts_left(failure: Failure, results: &Results) -> Failure {
    let Some([left, first]) = too_few_starts(&results.result) else {
        return failure;
    };
    let completed = match left {
        0 => "no start".to_owned(),
        1 => "only 1 start".to_owned(),
        _ => format!("only {left} starts"),
    };
    let message = format!(
        "{}; {completed} completed; the first look needs {first}",
        failure.message
    );
    Failure { message, ..failure }
}
