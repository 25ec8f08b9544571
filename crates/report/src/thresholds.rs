//! Whether the thresholds were kept.

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::threshold::{Doubt, Judged, Judgement};

use crate::grid::{Grid, heads};
use crate::keys;
use crate::number;

/// What a study of a single point calls it.
const ONLY_POINT: &str = "all";

/// In a sentence; `None` without thresholds.
pub(crate) fn lead(result: &RunResult) -> Option<String> {
    let all = result.thresholds.len();
    let missed = result.thresholds.iter().filter(|one| one.is_missed());
    let lead = match (all, missed.count()) {
        (0, _) => return None,
        (1, 0) => "The threshold was kept.".to_owned(),
        (1, _) => "The threshold was missed.".to_owned(),
        (all, 0) => format!("All {all} thresholds were kept."),
        (all, missed) => format!("{missed} of {all} thresholds were missed."),
    };
    let is_close = |one: &&Judgement| one.doubts.contains(&Doubt::WithinInterval);
    let close = match result.thresholds.iter().filter(is_close).count() {
        0 => return Some(lead),
        1 => "One limit lies within the interval of what was found".to_owned(),
        close => format!("{close} limits lie within the intervals of what was found"),
    };
    Some(format!("{lead} {close}: another run may tell otherwise."))
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
            verdict(judgement),
        ]
    });
    Grid {
        caption: "Thresholds: the mean over the n trials of each point, against its limit. ± is \
                  half of its 95 % interval, parentheses hold that of a percentile: over the trials \
                  where there are several, else within the one, from which another may differ \
                  by more."
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

/// What came of it, and why that is not sure: `kept, within its interval`.
fn verdict(judgement: &Judgement) -> String {
    match doubts(judgement) {
        None => judgement.judged.to_string(),
        Some(doubts) => format!("{}, {doubts}", judgement.judged),
    }
}

fn doubts(judgement: &Judgement) -> Option<String> {
    let doubts: Vec<String> = judgement.doubts.iter().map(Doubt::to_string).collect();
    (!doubts.is_empty()).then(|| doubts.join("; "))
}

/// What is wrong, with both numbers: `tps is 94.80 ± 0.50, which is not >= 95 (within its
/// interval)`; `None` where the threshold was kept.
pub(crate) fn miss(judgement: &Judgement) -> Option<String> {
    let (value, limit) = numbers(judgement);
    let (column, condition) = (&judgement.column, &judgement.condition);
    let miss = match &judgement.judged {
        Judged::Kept => return None,
        Judged::NotMeasured => format!("{column} was not measured; it has to be {condition}"),
        Judged::NoBaseline { reason } => {
            format!("{column} is {value}, and has to be {condition}: {reason}")
        }
        Judged::Missed => match condition.contains('*') || condition.contains("base") {
            true => format!("{column} is {value}, which is not {condition} = {limit}"),
            false => format!("{column} is {value}, which is not {condition}"),
        },
    };
    Some(match doubts(judgement) {
        None => miss,
        Some(doubts) => format!("{miss} ({doubts})"),
    })
}

/// Both numbers with their intervals, and with as many digits as tell them apart.
fn numbers(judgement: &Judgement) -> (String, String) {
    let (value, limit) = (judgement.value, judgement.limit);
    let are_apart = match (value, limit) {
        (Some(value), Some(limit)) => {
            number::value(value) != number::value(limit) || value.total_cmp(&limit).is_eq()
        }
        _ => true,
    };
    let plain = |value: f64| match are_apart {
        true => number::value(value),
        false => value.to_string(),
    };
    let shown = |value: Option<f64>, half_width| match (value, half_width) {
        (Some(value), Some(half)) if !are_apart => format!("{value} ± {}", number::value(half)),
        (Some(value), None) => plain(value),
        (value, half_width) => number::estimate(value.map(|value| Estimate { value, half_width })),
    };
    let found = match (value, judgement.range) {
        (Some(value), range @ Some(_)) if are_apart => number::within(value, range),
        (value, _) => shown(value, judgement.half_width),
    };
    (found, shown(limit, judgement.limit_half_width))
}
