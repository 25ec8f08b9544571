//! Whether the thresholds were kept.

use measure::result::RunResult;
use measure::threshold::{Judged, Judgement};

use crate::grid::{Grid, heads};
use crate::keys;
use crate::number;

/// What a study of a single point calls it.
const ONLY_POINT: &str = "all";

/// In a sentence; `None` without thresholds.
pub(crate) fn lead(result: &RunResult) -> Option<String> {
    let all = result.thresholds.len();
    let missed = result.thresholds.iter().filter(|one| one.is_missed());
    match (all, missed.count()) {
        (0, _) => None,
        (1, 0) => Some("The threshold was kept.".to_owned()),
        (1, _) => Some("The threshold was missed.".to_owned()),
        (all, 0) => Some(format!("All {all} thresholds were kept.")),
        (all, missed) => Some(format!("{missed} of {all} thresholds were missed.")),
    }
}

/// A row for each threshold at each point, those that were missed first.
pub(crate) fn grid(result: &RunResult) -> Grid {
    let mut judgements: Vec<&Judgement> = result.thresholds.iter().collect();
    judgements.sort_by_key(|judgement| !judgement.is_missed());
    let rows = judgements.into_iter().map(|judgement| {
        let (value, limit) = numbers(judgement);
        vec![
            point(judgement, result),
            judgement.threshold(),
            value,
            limit,
            number::count(judgement.trials.into()),
            judgement.judged.to_string(),
        ]
    });
    Grid {
        caption: "Thresholds: the mean over the n trials of each point, against its limit."
            .to_owned(),
        heads: heads(["point", "threshold", "found", "limit", "n", ""]),
        keys: 2,
        words: 1,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// The point of a judgement, as people say it.
pub(crate) fn point(judgement: &Judgement, result: &RunResult) -> String {
    let axes = keys::axes(result);
    let (names, values): (Vec<&str>, Vec<&str>) = judgement
        .point
        .iter()
        .map(|(key, value)| (key.as_str(), value.as_str()))
        .unzip();
    match names.is_empty() {
        true => ONLY_POINT.to_owned(),
        false => keys::name(&names, &values, &axes),
    }
}

/// Every threshold that was missed, in words; those of several points say at which.
#[must_use]
pub fn misses(result: &RunResult) -> Vec<String> {
    let missed = result.thresholds.iter();
    let missed = missed.filter_map(|judgement| {
        let miss = miss(judgement)?;
        Some(match judgement.point.is_empty() {
            true => miss,
            false => format!("at {}, {miss}", point(judgement, result)),
        })
    });
    missed.collect()
}

/// What is wrong, with both numbers: `tps is 90, which is not >= 95`; `None` where the
/// threshold was kept.
pub(crate) fn miss(judgement: &Judgement) -> Option<String> {
    let (value, limit) = numbers(judgement);
    let (column, condition) = (&judgement.column, &judgement.condition);
    match &judgement.judged {
        Judged::Kept => None,
        Judged::NotMeasured => Some(format!(
            "{column} was not measured; it has to be {condition}"
        )),
        Judged::NoBaseline { reason } => Some(format!(
            "{column} is {value}, and has to be {condition}: {reason}"
        )),
        Judged::Missed => Some(
            match condition.contains('*') || condition.contains("base") {
                true => format!("{column} is {value}, which is not {condition} = {limit}"),
                false => format!("{column} is {value}, which is not {condition}"),
            },
        ),
    }
}

/// Both numbers with as many digits as tell them apart.
fn numbers(judgement: &Judgement) -> (String, String) {
    let shown = (
        number::maybe(judgement.value),
        number::maybe(judgement.limit),
    );
    match (judgement.value, judgement.limit) {
        (Some(value), Some(limit)) if shown.0 == shown.1 && value.total_cmp(&limit).is_ne() => {
            (value.to_string(), limit.to_string())
        }
        _ => shown,
    }
}
