//! Whether thresholds were kept, at every point of a study.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{Limit, Threshold};
use crate::column;
use crate::result::RunResult;
use crate::summary::TrialSummary;

/// The key that names alternative settings of a study.
const VARIANT: &str = "variant";

/// Whether a threshold was kept at one point.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// The point: its keys with their values; empty in a study of one.
    pub point: Vec<(String, String)>,
    /// The column that was looked at.
    pub column: String,
    /// What it has to be, for example `>= 0.95 * baseline`.
    pub condition: String,
    /// The number that it was compared with.
    pub limit: Option<f64>,
    /// The mean over the point's trials.
    pub value: Option<f64>,
    /// Trials that the mean is over.
    pub trials: u32,
    /// What came of it.
    pub judged: Judged,
}

/// What came of a threshold at a point; all but [`Judged::Kept`] is missed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Judged {
    /// The number is as it has to be.
    Kept,
    /// It is not.
    Missed,
    /// There is no number here.
    NotMeasured,
    /// There is none to compare it with.
    NoBaseline {
        /// Why.
        reason: String,
    },
}

impl Judgement {
    /// Whether the number is not as it has to be, or nobody can tell.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.judged != Judged::Kept
    }

    /// The threshold as it was written: `tps >= 0.95 * baseline`.
    #[must_use]
    pub fn threshold(&self) -> String {
        format!("{} {}", self.column, self.condition)
    }
}

impl fmt::Display for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kept => f.write_str("kept"),
            Self::Missed => f.write_str("missed"),
            Self::NotMeasured => f.write_str("missed: not measured"),
            Self::NoBaseline { reason } => write!(f, "missed: {reason}"),
        }
    }
}

/// What `baseline` in a threshold stands for.
#[derive(Debug, Clone, Copy)]
pub enum Baseline<'a> {
    /// Nothing.
    None,
    /// The same point of another result.
    Result(&'a RunResult),
    /// The point of this variant that is otherwise the same.
    Variant(&'a str),
}

impl<'a> Baseline<'a> {
    /// Trials of the point that stands for `point`.
    fn trials(
        self,
        trials: &'a [TrialSummary],
        point: &[(String, String)],
    ) -> Vec<&'a TrialSummary> {
        match self {
            Self::None => Vec::new(),
            Self::Result(result) => at(&result.trials, point),
            Self::Variant(variant) => {
                let mut point = point.to_vec();
                for (key, value) in &mut point {
                    if key == VARIANT {
                        variant.clone_into(value);
                    }
                }
                at(trials, &point)
            }
        }
    }

    /// Whether a point is the baseline itself, which is compared with nothing.
    fn is_at(self, point: &[(String, String)]) -> bool {
        match self {
            Self::Variant(variant) => point
                .iter()
                .any(|(key, value)| key == VARIANT && value == variant),
            Self::None | Self::Result(_) => false,
        }
    }
}

/// Judges every threshold at every point. One that is relative to a variant is not
/// judged at that variant itself.
#[must_use]
pub fn judge(
    thresholds: &[Threshold],
    trials: &[TrialSummary],
    baseline: Baseline<'_>,
) -> Vec<Judgement> {
    let mut judgements = Vec::new();
    for point in points(trials) {
        for threshold in thresholds {
            if !(threshold.is_relative() && baseline.is_at(point)) {
                judgements.push(judge_at(threshold, point, trials, baseline));
            }
        }
    }
    judgements
}

/// The points of some trials, as they first appear.
#[must_use]
pub fn points(trials: &[TrialSummary]) -> Vec<&[(String, String)]> {
    let mut points: Vec<&[(String, String)]> = Vec::new();
    for trial in trials {
        if !points.contains(&trial.point.as_slice()) {
            points.push(&trial.point);
        }
    }
    points
}

fn at<'a>(trials: &'a [TrialSummary], point: &[(String, String)]) -> Vec<&'a TrialSummary> {
    let same = |trial: &&TrialSummary| {
        trial.point.len() == point.len() && trial.point.iter().all(|pair| point.contains(pair))
    };
    trials.iter().filter(same).collect()
}

fn judge_at(
    threshold: &Threshold,
    point: &[(String, String)],
    trials: &[TrialSummary],
    baseline: Baseline<'_>,
) -> Judgement {
    let here = at(trials, point);
    let (value, count) = mean(&here, &threshold.column);
    let limit = match threshold.limit {
        Limit::Number(number) => Ok(number),
        Limit::OfBaseline(factor) => {
            base(&here, &baseline.trials(trials, point), &threshold.column)
                .map(|base| base * factor)
        }
    };
    let judged = match (value, &limit) {
        (None, _) => Judged::NotMeasured,
        (_, Err(reason)) => Judged::NoBaseline {
            reason: reason.clone(),
        },
        (Some(value), Ok(limit)) if threshold.compare.holds(value, *limit) => Judged::Kept,
        (Some(_), Ok(_)) => Judged::Missed,
    };
    Judgement {
        point: point.to_vec(),
        column: threshold.column.clone(),
        condition: threshold.condition(),
        limit: limit.ok(),
        value,
        trials: count,
        judged,
    }
}

/// What the baseline has, or why that is nothing to compare with.
fn base(here: &[&TrialSummary], base: &[&TrialSummary], column: &str) -> Result<f64, String> {
    let (Some(one), Some(other)) = (here.first(), base.first()) else {
        return Err("the baseline has no such point".to_owned());
    };
    if let Some(reason) = unlike(one, other) {
        return Err(reason);
    }
    mean(base, column)
        .0
        .ok_or_else(|| "not measured in the baseline".to_owned())
}

/// Why two trials cannot be compared; another version of an engine is no reason.
fn unlike(one: &TrialSummary, base: &TrialSummary) -> Option<String> {
    let name = |trial: &TrialSummary| {
        let mut words = trial.setup.engine.split_whitespace().map(str::to_owned);
        words.next().unwrap_or_default()
    };
    let (workload, engine) = (&base.setup.workload, name(base));
    if one.setup.workload != *workload {
        return Some(format!("the baseline ran {workload}"));
    }
    (name(one) != engine).then(|| format!("the baseline is of {engine}"))
}

/// The mean over the trials whose numbers count, and how many have one.
fn mean(trials: &[&TrialSummary], column: &str) -> (Option<f64>, u32) {
    let counting = trials.iter().filter(|trial| trial.counts());
    let values: Vec<f64> = counting
        .filter_map(|trial| column::value(trial, column))
        .map(|estimate| estimate.value)
        .filter(|value| value.is_finite())
        .collect();
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let count = u32::try_from(values.len()).unwrap_or(u32::MAX);
    ((count > 0).then_some(mean), count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setup::Outcome;

    fn read(text: &str) -> Threshold {
        Threshold::parse_line(text).unwrap()
    }

    /// A trial at a point with so many transactions per second.
    fn trial(point: &[(&str, &str)], tps: f64) -> TrialSummary {
        let mut trial = crate::check::tests::trial();
        let pairs = point.iter();
        trial.point = pairs
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
            .collect();
        if let Some(per_s) = &mut trial.transactions.per_s {
            per_s.value = tps;
        }
        trial
    }

    fn told(judgements: &[Judgement]) -> Vec<String> {
        judgements.iter().map(|j| j.judged.to_string()).collect()
    }

    #[test]
    fn a_point_is_judged_by_the_mean_over_its_repeats() {
        let trials = [
            trial(&[("threads", "1")], 90.0),
            trial(&[("threads", "2")], 200.0),
            trial(&[("threads", "1")], 110.0),
        ];
        let judgements = judge(&[read("tps >= 100")], &trials, Baseline::None);
        assert_eq!(told(&judgements), ["kept", "kept"]);
        let first = &judgements[0];
        assert_eq!((first.value, first.trials), (Some(100.0), 2));
        let missed = judge(&[read("tps > 100")], &trials, Baseline::None);
        assert_eq!(told(&missed), ["missed", "kept"]);
        assert!(missed[0].is_missed() && missed[0].limit == Some(100.0));
    }

    #[test]
    fn without_a_number_a_threshold_is_missed() {
        let mut failed = trial(&[], 500.0);
        failed.outcome = Outcome::Failed {
            reason: "gone".into(),
        };
        let thresholds = [read("tps > 1"), read("psi.io.full < 5")];
        let judgements = judge(&thresholds, &[failed], Baseline::None);
        assert_eq!(told(&judgements), ["missed: not measured"; 2]);
        assert!(judge(&thresholds, &[], Baseline::None).is_empty());
    }

    fn result(trials: Vec<TrialSummary>) -> RunResult {
        let mut result: RunResult = serde_json::from_value(serde_json::json!({
            "schema_version": 1, "title": "t", "question": null, "description": null,
            "environment": {}, "trials": [],
        }))
        .unwrap();
        result.trials = trials;
        result
    }

    #[test]
    fn a_baseline_is_the_same_point_of_another_result() {
        let mut other_load = trial(&[("threads", "4")], 300.0);
        other_load.setup.workload = "oltp_insert".into();
        let mut other_engine = trial(&[("threads", "8")], 300.0);
        other_engine.setup.engine = "SQLite 3".into();
        let base = result(vec![
            trial(&[("threads", "1"), ("rows", "9")], 100.0),
            trial(&[("threads", "2")], 200.0),
            other_load,
            other_engine,
        ]);
        let trials = [
            trial(&[("rows", "9"), ("threads", "1")], 95.0),
            trial(&[("threads", "2")], 189.0),
            trial(&[("threads", "3")], 300.0),
            trial(&[("threads", "4")], 300.0),
            trial(&[("threads", "8")], 300.0),
        ];
        let thresholds = [read("tps >= 0.95 * baseline")];
        let judgements = judge(&thresholds, &trials, Baseline::Result(&base));
        assert_eq!(
            told(&judgements),
            [
                "kept",
                "missed",
                "missed: the baseline has no such point",
                "missed: the baseline ran oltp_insert",
                "missed: the baseline is of SQLite",
            ]
        );
        assert_eq!(judgements[1].limit, Some(190.0));
        let alone = judge(&thresholds, &trials[..1], Baseline::None);
        assert_eq!(told(&alone), ["missed: the baseline has no such point"]);
    }

    #[test]
    fn a_variant_is_the_baseline_of_the_others() {
        let trials = [
            trial(&[("variant", "a"), ("threads", "1")], 100.0),
            trial(&[("variant", "b"), ("threads", "1")], 90.0),
            trial(&[("variant", "a"), ("threads", "2")], 100.0),
            trial(&[("variant", "b"), ("threads", "2")], 110.0),
        ];
        let thresholds = [read("tps >= 0.95 * baseline"), read("tps > 95")];
        let judgements = judge(&thresholds, &trials, Baseline::Variant("a"));
        let shown: Vec<_> = judgements
            .iter()
            .map(|j| (j.point[0].1.as_str(), j.column.as_str(), j.is_missed()))
            .collect();
        // The variant itself is only judged by what is not relative to it.
        assert_eq!(
            shown,
            [
                ("a", "tps", false),
                ("b", "tps", true),
                ("b", "tps", true),
                ("a", "tps", false),
                ("b", "tps", false),
                ("b", "tps", false),
            ]
        );
    }
}
