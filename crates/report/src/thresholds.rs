//! Whether the thresholds were met.

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::threshold::{Caveat, Paired, ThresholdResult, ThresholdVerdict};

use crate::grid::{Columns, Grid};
use crate::list::{around, distinct, joined_any, joined_known};
use crate::{keys, number};

/// In a sentence; `None` without thresholds.
pub(crate) fn lead(result: &RunResult) -> Option<String> {
    let count =
        |is: fn(&ThresholdResult) -> bool| result.thresholds.iter().filter(|one| is(one)).count();
    let (all, missed) = (result.thresholds.len(), count(ThresholdResult::is_missed));
    let lead = match (all, missed, count(ThresholdResult::is_undecided)) {
        (0, ..) => return None,
        (1, 0, 0) => "The threshold was met.".to_owned(),
        (1, _, 0) => "The threshold was missed.".to_owned(),
        (1, ..) => format!("The threshold is undecided: {}.", why_undecided(result)),
        (all, 0, 0) => format!("All {all} thresholds were met."),
        (all, missed, 0) => format!("{missed} of {all} thresholds were missed."),
        (all, missed, undecided) => format!(
            "{missed} of {all} thresholds were missed, {undecided} {} undecided: {}.",
            if undecided == 1 { "is" } else { "are" },
            why_undecided(result)
        ),
    };
    Some(lead)
}

fn why_undecided(result: &RunResult) -> String {
    let undecided = result.thresholds.iter().filter(|one| one.is_undecided());
    let reasons = undecided.filter_map(|one| one.caveats.first());
    distinct(reasons.map(Caveat::to_string)).join(", or ")
}

/// A row for each threshold at each point: missed, undecided, met.
pub(crate) fn grid(result: &RunResult) -> Grid {
    let mut results: Vec<&ThresholdResult> = result.thresholds.iter().collect();
    results.sort_by_key(|one| (!one.is_missed(), !one.is_undecided()));
    let columns = Columns::<&ThresholdResult>::new()
        .key("point", |one| point(one, result))
        .key("threshold", ThresholdResult::threshold)
        .with("found", |one| numbers(one).0)
        .with("limit", |one| numbers(one).1)
        .with("n", |one| one.trials)
        .words("verdict", verdict);
    columns.grid(
        "Thresholds: the mean over the n trials of each point, and the limit. ±: half width \
         of the 95 % confidence interval; in parentheses: that of a percentile. Both are over \
         the trials, or within the trial where there is only one; a repeat may differ by \
         more. Against a variant of the same study, the interval of the ratio within each \
         block decides.",
        results,
    )
}

pub(crate) fn point(threshold: &ThresholdResult, result: &RunResult) -> String {
    match threshold.point.is_empty() {
        true => "all".to_owned(),
        false => keys::name_of(&threshold.point, &keys::axes(result)),
    }
}

/// Every threshold that is missed or undecided, as asked for, in words; those of several points say
/// at which.
pub fn sentences(result: &RunResult, is_wanted: fn(&ThresholdResult) -> bool) -> Vec<String> {
    let wanted = result.thresholds.iter().filter(|one| is_wanted(one));
    let sentences = wanted.filter_map(|threshold| {
        let reason = reason(threshold)?;
        Some(match threshold.point.is_empty() {
            true => reason,
            false => format!("at {}, {reason}", point(threshold, result)),
        })
    });
    sentences.collect()
}

/// The verdict, and why another run could give another: `met, fewer than 10 transactions
/// were slower`.
fn verdict(threshold: &ThresholdResult) -> String {
    let (verdict, ratio) = (threshold.verdict.to_string(), threshold.paired.map(ratio));
    joined_known([Some(verdict), ratio, caveats(threshold)], ", ")
}

/// How far a number is from its limit: `98.0 % of the limit (97.8–98.2 %) over 3 pairs`.
fn ratio(paired: Paired) -> String {
    let [ratio, low, high] = [paired.ratio, paired.low, paired.high].map(|part| 100.0 * part);
    format!(
        "{ratio:.1} % of the limit ({low:.1}–{high:.1} %) over {} pairs",
        paired.pairs
    )
}

/// Why another run could give another verdict, beyond the interval that a ratio tells itself.
fn caveats(threshold: &ThresholdResult) -> Option<String> {
    let is_told = |caveat: &Caveat| threshold.paired.is_some() && *caveat == Caveat::WithinInterval;
    let caveats = threshold.caveats.iter().filter(|caveat| !is_told(caveat));
    joined_any(caveats.map(Caveat::to_string), "; ")
}

/// Why a threshold was not met, with both numbers: `tps is 94.80 ± 0.20, which is not >= 95`;
/// `None` where it was.
pub(crate) fn reason(threshold: &ThresholdResult) -> Option<String> {
    let (value, limit) = numbers(threshold);
    let (column, condition) = (&threshold.column, &threshold.condition);
    let condition_with_limit = match condition.contains("base") {
        true => format!("{condition} = {limit}"),
        false => condition.clone(),
    };
    let reason = match &threshold.verdict {
        ThresholdVerdict::Met => return None,
        ThresholdVerdict::NotMeasured => {
            format!("{column} was not measured; it must be {condition}")
        }
        ThresholdVerdict::NoBaseline { reason } => {
            format!("{column} is {value}, and must be {condition}: {reason}")
        }
        ThresholdVerdict::Missed => {
            format!("{column} is {value}, which is not {condition_with_limit}")
        }
        ThresholdVerdict::Undecided => {
            let ratio = threshold.paired.map_or(String::new(), ratio);
            let ratio = around(", ", &ratio, "");
            format!("{column} is {value}: {condition_with_limit} is undecided{ratio}")
        }
    };
    Some(reason + &around(" (", &caveats(threshold).unwrap_or_default(), ")"))
}

/// Both numbers with their intervals, and with as many digits as tell them apart.
fn numbers(threshold: &ThresholdResult) -> (String, String) {
    let (value, limit) = (threshold.value, threshold.limit);
    let are_apart = match (value, limit) {
        (Some(value), Some(limit)) => {
            number::value(value) != number::value(limit) || value.total_cmp(&limit).is_eq()
        }
        _ => true,
    };
    let shown = |value: Option<f64>, half_width| match (value, half_width) {
        (Some(value), Some(half)) if !are_apart => format!("{value} ± {}", number::value(half)),
        (Some(value), None) if !are_apart => value.to_string(),
        (value, half_width) => number::estimate(value.map(|value| Estimate { value, half_width })),
    };
    let found = match (value, threshold.range) {
        (Some(value), range @ Some(_)) if are_apart => number::within(value, range),
        (value, _) => shown(value, threshold.half_width),
    };
    (found, shown(limit, threshold.limit_half_width))
}
