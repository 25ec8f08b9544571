//! Both sides as the variants of one result.

use measure::result::{Design, RunResult};
use measure::summary::TrialSummary;

use super::Side;
use crate::keys::{self, VARIANT};
use crate::list::distinct;

/// What the variants of a result are called where the sides are the variants.
const SETTING: &str = "setting";

/// The trials of both; all else is the base's.
pub(super) fn merge(base: &Side<'_>, new: &Side<'_>) -> RunResult {
    let sides = [base, new];
    let axes = sides.iter().flat_map(|side| keys::axes(side.result));
    let axes = distinct(axes.filter(|key| *key != VARIANT));
    let settings = sides
        .iter()
        .any(|side| side.variant.is_none() && keys::axes(side.result).contains(&VARIANT));
    let mut all = vec![VARIANT];
    all.extend(settings.then_some(SETTING));
    all.extend(axes);
    let trials = sides.iter().flat_map(|side| {
        let trials = side.result.trials.iter();
        let wanted = trials.filter(|trial| {
            let variant = side.variant;
            variant.is_none() || keys::variant(trial) == variant
        });
        wanted.map(|trial| of_side(trial, side))
    });
    RunResult {
        title: format!("{} against {}", new.name, base.name),
        question: None,
        description: None,
        design: Design {
            trials: 0,
            axes: all.into_iter().map(str::to_owned).collect(),
            ..base.result.design.clone()
        },
        trials: trials.collect(),
        ..head(base.result)
    }
}

/// A result without its trials.
fn head(result: &RunResult) -> RunResult {
    RunResult {
        schema_version: result.schema_version,
        environment: result.environment.clone(),
        ..RunResult::default()
    }
}

fn of_side(trial: &TrialSummary, side: &Side<'_>) -> TrialSummary {
    let mut trial = trial.clone();
    let own = trial
        .setup
        .planned
        .point
        .insert(VARIANT.to_owned(), side.name.into());
    if let (None, Some(setting)) = (side.variant, own) {
        trial
            .setup
            .planned
            .point
            .insert(SETTING.to_owned(), setting);
    }
    trial
}
