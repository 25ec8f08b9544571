//! The thresholds of a run, and the baseline that they refer to.

use std::path::Path;

use ::report::thresholds::sentences;
use lab::Trial;
use measure::result::RunResult;
use measure::threshold::{self, Baseline, Threshold, ThresholdResult};
use measure::work::other_work;

use crate::cli::{BenchArgs, RunArgs, UndecidedArg};
use crate::failure::Failure;
use crate::progress::Screen;
use crate::stored_result::StoredResult;
use crate::study_file::PlannedStudy;

/// Maximum number of thresholds in the final message; the report lists all.
const MOST_NAMED: usize = 5;

pub(crate) struct Thresholds {
    list: Vec<Threshold>,
    /// The result that they refer to.
    result: Option<RunResult>,
    /// The variant that they refer to without such a result.
    variant: Option<String>,
    undecided: UndecidedArg,
}

impl Thresholds {
    /// The thresholds of a study; a result given on the command line replaces the variant that the
    /// study names as baseline.
    pub(crate) fn of_study(study: &PlannedStudy, args: &RunArgs) -> Result<Self, Failure> {
        let (baseline, mut list) = (args.baseline.as_deref(), Vec::new());
        for spec in &study.plan.thresholds {
            let read = Threshold::parse(&spec.column, &spec.condition);
            let threshold = read.map_err(Failure::usage)?;
            let has_base = baseline.is_some() || study.plan.baseline.is_some();
            if threshold.is_relative() && !has_base {
                let error = study.source.error_at(
                    spec.condition.span,
                    "no baseline given",
                    "name a variant: baseline = \"…\" under [thresholds], or another result: dyno run --baseline RESULT",
                );
                return Err(Failure::usage(error));
            }
            list.push(threshold);
        }
        let variant = study.plan.baseline.as_ref();
        let is_relative = list.iter().any(Threshold::is_relative);
        if let (false, Some(name)) = (is_relative, variant) {
            let error = study.source.error_at(
                name.span,
                "no threshold refers to the baseline",
                "remove it, or write, for example, \"tps\" = \">= 0.95 * baseline\"",
            );
            return Err(Failure::usage(error));
        }
        Ok(Self {
            list,
            result: result(baseline, is_relative)?,
            variant: variant.map(|name| name.value.clone()),
            undecided: args.undecided,
        })
    }

    pub(crate) fn of_bench(args: &BenchArgs) -> Result<Self, Failure> {
        let (list, baseline) = (&args.thresholds, args.baseline.as_deref());
        let relative = list.iter().find(|threshold| threshold.is_relative());
        if let (Some(threshold), None) = (relative, baseline) {
            let message = format!("no baseline given for the threshold `{threshold}`");
            let remedy = "add --baseline RESULT";
            return Err(Failure::usage(message).remedy(remedy));
        }
        Ok(Self {
            list: list.clone(),
            result: result(baseline, relative.is_some())?,
            variant: None,
            undecided: args.undecided,
        })
    }

    /// Prints before the run which points have no counterpart in the baseline.
    pub(crate) fn note_missing_points(&self, trials: &[Trial], screen: &Screen) {
        let Some(base) = &self.result else { return };
        let mut noted = Vec::new();
        for trial in trials {
            let Some(why) = incomparable(trial, base) else {
                continue;
            };
            if !noted.contains(&&trial.planned.point) {
                noted.push(&trial.planned.point);
                screen.line(&format!(
                    "note: {why}; thresholds that refer to the baseline will fail there"
                ));
            }
        }
    }

    pub(crate) fn judge(&self, result: &RunResult) -> Vec<ThresholdResult> {
        let baseline = match (&self.result, &self.variant) {
            (Some(result), _) => Baseline::Trials(&result.trials),
            (None, Some(name)) => Baseline::Variant(name),
            (None, None) => Baseline::None,
        };
        threshold::judge(&self.list, &result.trials, baseline)
    }

    /// Fails if a threshold was not met, or is undecided and the user wants that to fail.
    pub(crate) fn outcome(&self, result: &RunResult) -> Result<(), Failure> {
        let mut failed = sentences(result, ThresholdResult::is_missed);
        let mut remedy = None;
        if self.undecided == UndecidedArg::Fail {
            if failed.is_empty() {
                remedy = Some(
                    "measure longer or repeat more often, or let undecided thresholds pass: --undecided pass",
                );
            }
            failed.extend(sentences(result, ThresholdResult::is_undecided));
        }
        if failed.is_empty() {
            return Ok(());
        }
        let named = failed.iter().take(MOST_NAMED).map(String::as_str);
        let mut message = named.collect::<Vec<_>>().join("; ");
        if failed.len() > MOST_NAMED {
            message.push_str(&format!("; and {} more", failed.len() - MOST_NAMED));
        }
        Err(Failure::threshold(message).perhaps(remedy))
    }
}

/// Why a trial cannot be compared with a baseline, as far as is known before it runs.
fn incomparable(trial: &Trial, base: &RunResult) -> Option<String> {
    let plan::Trial { point, label, .. } = &trial.planned;
    let mut planned = base.trials.iter().map(|known| &known.setup.planned);
    let Some(known) = planned.find(|known| known.point == *point) else {
        return Some(format!("the baseline has no point {label}"));
    };
    let other = other_work(&trial.planned, known)?;
    let place = match point.is_empty() {
        true => String::new(),
        false => format!(" at {label}"),
    };
    Some(format!(
        "the baseline ran a different workload{place}: {other}"
    ))
}

/// The result that thresholds refer to.
fn result(dir: Option<&Path>, is_relative: bool) -> Result<Option<RunResult>, Failure> {
    let Some(dir) = dir else { return Ok(None) };
    if !is_relative {
        let message = "--baseline has no effect: no threshold refers to it";
        let remedy = "write, for example, 'tps >= 0.95 * baseline', or omit it";
        return Err(Failure::usage(message).remedy(remedy));
    }
    Ok(Some(StoredResult::read(dir)?.result))
}
