//! Whether thresholds were met, at every point of a study.

use std::fmt;

use plan::Point;
use plan::key::VARIANT;
use serde::{Deserialize, Serialize};

use super::{Limit, Threshold};
use crate::column;
use crate::compare::{Boundary, ERROR_RATE, Measured, blocks, by_blocks, carried};
use crate::interval::student_t;
use crate::point_estimate::PointEstimate;
use crate::quantile::Range;
use crate::setup::Setup;
use crate::summary::{TrialSummary, counted};
use crate::words::words;
use crate::work::other_work;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ThresholdResult {
    /// Empty in a study with a single point.
    pub point: Point,
    pub column: String,
    /// The condition, for example `>= 0.95 * baseline`.
    pub condition: String,
    pub limit: Option<f64>,
    /// Half of the limit's own 95 % interval, if a baseline gives the limit and has an interval.
    pub limit_half_width: Option<f64>,
    /// The mean over the point's trials.
    pub value: Option<f64>,
    /// Half of the 95 % interval of `value`: over the trials if there are several, otherwise within
    /// the trial; `None` if there is no interval.
    pub half_width: Option<f64>,
    /// The interval of a percentile of a single trial, in place of a half width.
    pub range: Option<Range>,
    pub trials: u32,
    /// Comparison by pairs of trials that ran in the same block; only against a variant of the same
    /// study. It decides in place of both intervals.
    pub paired: Option<Paired>,
    pub verdict: ThresholdVerdict,
    /// Why another run may give another verdict.
    pub caveats: Vec<Caveat>,
}

/// A number as a multiple of its limit, over pairs of trials of the same block.
///
/// What slows the host down for a while slows both trials of a block, so it cancels in their ratio
/// (Box, Hunter and Hunter, *Statistics for Experimenters*: "block what you can"). The mean of the
/// logarithms of the ratios has Student's interval over the pairs; in a comparison that may end
/// after several looks, the interval of the look ([`Boundary`]).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Paired {
    /// Number of pairs, at least 2.
    pub pairs: usize,
    /// Geometric mean of number / limit: 1 if the number equals its limit.
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
}

words! {
    Caveat {
        /// The limit lies within the number's interval; or, if the limit has an interval too, within
        /// the combined width of both; or, for pairs, the interval of the ratio includes 1.
        WithinInterval = "the limit is within the confidence interval",
        /// A percentile that fewer than ten transactions exceed.
        FewSlower = "fewer than 10 transactions were slower",
        FewSlowerInBaseline = "fewer than 10 of the baseline's transactions were slower",
        /// A mean or percentile without an interval: the trial was too short or fluctuated too slowly,
        /// or trials have no interval of it.
        NoInterval = "without a confidence interval",
        /// The baseline ran at another time, so a change of the host looks like a difference.
        NotInterleaved = "the baseline ran at another time, not interleaved",
        /// The trials did not start their own servers, so their differences say nothing about the next
        /// start.
        NotRestarted = "the server was not restarted between trials",
        /// Fewer than two blocks have both this point and its baseline, or a number has no logarithm.
        FewBlocks = "fewer than two blocks have both, or one of the numbers is not positive",
        /// Variants took turns and disturbed each other, so both numbers are wrong.
        CarryOver = "the variants' turns disturbed each other",
        /// A trial of this point failed, and might not have met the condition.
        Failed = "a trial failed",
    }
}

impl Caveat {
    /// Whether the caveat leaves open if the condition was met or missed.
    fn leaves_open(self, holds: bool) -> bool {
        match self {
            Self::WithinInterval
            | Self::NoInterval
            | Self::NotInterleaved
            | Self::NotRestarted
            | Self::FewBlocks
            | Self::CarryOver => true,
            Self::Failed => holds,
            Self::FewSlower | Self::FewSlowerInBaseline => false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum ThresholdVerdict {
    Met,
    Missed,
    /// Neither met nor missed; the caveats say why.
    Undecided,
    NotMeasured,
    NoBaseline {
        reason: String,
    },
}

impl ThresholdResult {
    /// Whether the condition was missed or cannot be checked.
    pub fn is_missed(&self) -> bool {
        !matches!(
            self.verdict,
            ThresholdVerdict::Met | ThresholdVerdict::Undecided
        )
    }

    /// Whether another run could well give another verdict.
    pub fn is_undecided(&self) -> bool {
        self.verdict == ThresholdVerdict::Undecided
    }

    /// As written in the study: `tps >= 0.95 * baseline`.
    pub fn threshold(&self) -> String {
        format!("{} {}", self.column, self.condition)
    }
}

impl fmt::Display for ThresholdVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Met => f.write_str("met"),
            Self::Missed => f.write_str("missed"),
            Self::Undecided => f.write_str("undecided"),
            Self::NotMeasured => f.write_str("missed: not measured"),
            Self::NoBaseline { reason } => write!(f, "missed: {reason}"),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Baseline<'a> {
    None,
    /// The same point of another result.
    Trials(&'a [TrialSummary]),
    /// The point of this variant that is otherwise equal.
    Variant(&'a str),
}

impl<'a> Baseline<'a> {
    fn trials(self, trials: &'a [TrialSummary], point: &Point) -> Vec<&'a TrialSummary> {
        match self {
            Self::None => Vec::new(),
            Self::Trials(trials) => at(trials, point),
            Self::Variant(variant) => {
                let mut point = point.clone();
                point
                    .entry(VARIANT.to_owned())
                    .and_modify(|value| *value = variant.into());
                at(trials, &point)
            }
        }
    }

    /// Whether a point is the baseline itself, which is not compared.
    fn is_at(self, point: &Point) -> bool {
        match self {
            Self::Variant(variant) => point.get(VARIANT) == Some(&variant.into()),
            Self::None | Self::Trials(_) => false,
        }
    }
}

/// Judges every threshold at every point. A threshold relative to a variant is not judged at that
/// variant itself.
pub fn judge(
    thresholds: &[Threshold],
    trials: &[TrialSummary],
    baseline: Baseline<'_>,
) -> Vec<ThresholdResult> {
    let mut results = Vec::new();
    for point in points(trials) {
        for threshold in thresholds {
            if !(threshold.is_relative() && baseline.is_at(point)) {
                results.push(judge_at(threshold, point, trials, baseline));
            }
        }
    }
    results
}

/// The points of trials, in order of their first appearance.
pub fn points(trials: &[TrialSummary]) -> Vec<&Point> {
    let mut points: Vec<&Point> = Vec::new();
    for trial in trials {
        if !points.contains(&&trial.setup.planned.point) {
            points.push(&trial.setup.planned.point);
        }
    }
    points
}

fn at<'a>(trials: &'a [TrialSummary], point: &Point) -> Vec<&'a TrialSummary> {
    trials
        .iter()
        .filter(|trial| trial.setup.planned.point == *point)
        .collect()
}

#[derive(Default)]
struct Against {
    limit: f64,
    half_width: Option<f64>,
    few_slower: bool,
    paired: Option<Paired>,
    /// Why a baseline prevents a verdict.
    caveat: Option<Caveat>,
}

fn judge_at(
    threshold: &Threshold,
    point: &Point,
    trials: &[TrialSummary],
    baseline: Baseline<'_>,
) -> ThresholdResult {
    let (here, base) = (at(trials, point), baseline.trials(trials, point));
    let found = PointEstimate::of(&here, &threshold.column);
    let against = match threshold.limit {
        Limit::Number(limit) => Ok(Against {
            limit,
            ..Against::default()
        }),
        Limit::OfBaseline(factor) => against(&here, &base, baseline, (&threshold.column, factor)),
    };
    let half_width = found.mean.and_then(|mean| mean.half_width);
    let known = against.as_ref().ok();
    let mut result = ThresholdResult {
        point: point.clone(),
        column: threshold.column.clone(),
        condition: threshold.condition(),
        limit: known.map(|against| against.limit),
        limit_half_width: known.and_then(|against| against.half_width),
        value: found.mean.map(|mean| mean.value),
        half_width,
        range: found.range.filter(|_| half_width.is_none()),
        trials: u32::try_from(found.trials).unwrap_or(u32::MAX),
        paired: known.and_then(|against| against.paired),
        verdict: ThresholdVerdict::NotMeasured,
        caveats: Vec::new(),
    };
    match (result.value, against) {
        (None, _) => {}
        (_, Err(reason)) => result.verdict = ThresholdVerdict::NoBaseline { reason },
        (Some(value), Ok(against)) => {
            result.caveats = caveats(&found, value, &against, &threshold.column);
            let have_failed = here.iter().any(|trial| trial.has_failed());
            result.caveats.extend(have_failed.then_some(Caveat::Failed));
            let is_paired = against.paired.is_some();
            let is_spoiled = is_paired && turns_disturb(trials, [&base, &here]);
            result
                .caveats
                .extend(is_spoiled.then_some(Caveat::CarryOver));
            let holds = match against.paired {
                Some(paired) => threshold.compare(paired.ratio, 1.0),
                None => threshold.compare(value, against.limit),
            };
            let mut caveats = result.caveats.iter();
            result.verdict = match caveats.any(|caveat| caveat.leaves_open(holds)) {
                true => ThresholdVerdict::Undecided,
                false if holds => ThresholdVerdict::Met,
                false => ThresholdVerdict::Missed,
            };
        }
    }
    result
}

/// Whether two variants took turns at a point and verifiably disturbed each other.
fn turns_disturb(trials: &[TrialSummary], sides: [&[&TrialSummary]; 2]) -> bool {
    let [Some(base), Some(here)] = sides.map(|side| side.first()) else {
        return false;
    };
    let planned = [base, here].map(|trial| &trial.setup.planned);
    let [Some(base), Some(new)] = planned.map(|planned| planned.variant()) else {
        return false;
    };
    let point = planned[0].common_point();
    let all = trials.iter();
    let all = all.filter(|trial| trial.setup.planned.common_point() == point);
    let all: Vec<&TrialSummary> = all.collect();
    carried(&all, [base, new]).is_some_and(|carried| carried.is_difference())
}

/// `factor` times the baseline's value, or why there is no comparison.
fn against(
    here: &[&TrialSummary],
    base: &[&TrialSummary],
    baseline: Baseline<'_>,
    (column, factor): (&str, f64),
) -> Result<Against, String> {
    if let Some(reason) = unlike(here, base, baseline) {
        return Err(reason);
    }
    let found = PointEstimate::of(base, column);
    let mean = found.mean.ok_or("not measured in the baseline")?;
    let is_variant = matches!(baseline, Baseline::Variant(_));
    let pairs = is_variant.then(|| paired(here, base, column, factor));
    let is_restarted = |trial: &&TrialSummary| trial.setup.planned.server.is_restarted();
    let caveat = match pairs {
        None => Some(Caveat::NotInterleaved),
        Some(_) if !column::is_sampled(column) => None,
        Some(_) if !here.iter().chain(base).all(is_restarted) => Some(Caveat::NotRestarted),
        Some(None) => Some(Caveat::FewBlocks),
        Some(Some(_)) => None,
    };
    Ok(Against {
        limit: mean.value * factor,
        half_width: found.longer_side().map(|half| half * factor.abs()),
        few_slower: found.few_slower,
        paired: pairs.flatten(),
        caveat,
    })
}

/// Compares trials of the same blocks with `factor` times the baseline's value. `None` with fewer
/// than two pairs, or if a number is not positive and so has no logarithm.
fn paired(
    here: &[&TrialSummary],
    base: &[&TrialSummary],
    column: &str,
    factor: f64,
) -> Option<Paired> {
    let measured = |trials: &[&TrialSummary], factor: f64| -> Vec<Measured> {
        let values = counted(trials).into_iter().filter_map(|trial| {
            let mut value = column::value(trial, column)?;
            value.value *= factor;
            let repeat = trial.setup.planned.repeat;
            value
                .value
                .is_finite()
                .then_some(Measured { repeat, value })
        });
        values.collect()
    };
    // Multiplied before the logarithm, so that a number exactly at its limit has the ratio 1.
    let blocks = blocks(&measured(base, factor), &measured(here, 1.0));
    let ratio = (blocks.len() > 1).then(|| by_blocks(&blocks))?;
    let boundary = Boundary::of_trials(here.iter().chain(base));
    let pairs = u32::try_from(blocks.len()).unwrap_or(u32::MAX);
    let critical = boundary.map_or_else(
        || student_t(ratio.degrees),
        |boundary| boundary.critical(ERROR_RATE, pairs),
    );
    let half = critical * ratio.error;
    ratio.mean.is_finite().then(|| Paired {
        pairs: blocks.len(),
        ratio: ratio.mean.exp(),
        low: (ratio.mean - half).exp(),
        high: (ratio.mean + half).exp(),
    })
}

/// Why another run could give another verdict.
fn caveats(found: &PointEstimate, value: f64, against: &Against, column: &str) -> Vec<Caveat> {
    let is_within = match against.paired {
        Some(paired) => paired.low < 1.0 && paired.high > 1.0,
        None if found.is_censored => value < against.limit,
        None => (value - against.limit).abs() < reach(found, against),
    };
    let is_known = found.reach(against.limit).is_some() || against.paired.is_some();
    let caveats = [
        (Caveat::WithinInterval, is_within),
        (Caveat::NoInterval, !is_known && column::is_sampled(column)),
        (Caveat::FewSlower, found.few_slower),
        (Caveat::FewSlowerInBaseline, against.few_slower),
    ];
    let there = caveats.into_iter().filter(|(_, is_there)| *is_there);
    let there = there.map(|(caveat, _)| caveat);
    there.chain(against.caveat).collect()
}

/// How far a number and its limit may differ by chance. Half widths of independent numbers add up
/// like standard errors: as squares.
fn reach(found: &PointEstimate, against: &Against) -> f64 {
    let reaches = [found.reach(against.limit), against.half_width];
    let squares = reaches.into_iter().flatten().map(|reach| reach * reach);
    squares.sum::<f64>().sqrt()
}

/// Why trials cannot be compared with those of the baseline. Another version of the engine is
/// allowed. Variants of a study differ by intent, even in their rows, but not in their workload.
fn unlike(
    here: &[&TrialSummary],
    base: &[&TrialSummary],
    baseline: Baseline<'_>,
) -> Option<String> {
    if base.is_empty() {
        return Some("the baseline has no such point".to_owned());
    }
    let Some(base) = driven(base) else {
        return Some("not measured in the baseline".to_owned());
    };
    // A number that was not measured here is reported as such.
    let one = driven(here)?;
    let [ours, theirs] = [one, base].map(|setup| setup.engine.split_whitespace().next());
    if ours != theirs {
        let theirs = theirs.unwrap_or_default();
        return Some(format!("the baseline is of {theirs}"));
    }
    match baseline {
        Baseline::Variant(_) => {
            let [ours, theirs] = [one, base].map(|setup| &setup.planned.load.workload.value);
            (ours != theirs).then(|| format!("the baseline ran {theirs}"))
        }
        Baseline::None | Baseline::Trials(_) => other_work(&one.planned, &base.planned)
            .map(|other| format!("the baseline ran a different workload: {other}")),
    }
}

/// The setup of trials of one point; those that failed may not have one.
fn driven<'a>(trials: &[&'a TrialSummary]) -> Option<&'a Setup> {
    counted(trials).first().map(|trial| &trial.setup)
}

#[cfg(test)]
#[path = "result_tests.rs"]
mod tests;
