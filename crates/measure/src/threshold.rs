//! Thresholds: what a number has to be at every point of a study, and whether it was.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::column;
use crate::result::RunResult;
use crate::summary::TrialSummary;

/// What stands for the number of another result or variant.
const BASELINE: &str = "baseline";
/// The key that names alternative settings of a study.
const VARIANT: &str = "variant";
const COMPARISONS: &str = "write a comparison and a number, such as `< 25`, `>= 1000` or `>= 0.95 * baseline`; \
     the comparisons are <, <=, > and >=";

/// How a number is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compare {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `>`
    More,
    /// `>=`
    AtLeast,
}

/// With what it is compared.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// A number, in the unit of its column.
    Number(f64),
    /// So many times what the baseline has at the same point.
    OfBaseline(f64),
}

/// What a column has to be. Shown as `response_ms.p99 < 25`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// A column of report tables, for example `response_ms.p99`.
    pub column: String,
    /// How it is compared…
    pub compare: Compare,
    /// …and with what.
    pub limit: Limit,
}

/// A text that is no threshold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}; {help}")]
pub struct ThresholdError {
    /// What is wrong.
    pub message: String,
    /// What to write instead.
    pub help: String,
}

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

impl Compare {
    const ALL: [(&'static str, Self); 4] = [
        ("<=", Self::AtMost),
        (">=", Self::AtLeast),
        ("<", Self::Less),
        (">", Self::More),
    ];

    fn holds(self, value: f64, limit: f64) -> bool {
        match self {
            Self::Less => value < limit,
            Self::AtMost => value <= limit,
            Self::More => value > limit,
            Self::AtLeast => value >= limit,
        }
    }

    fn sign(self) -> &'static str {
        Self::ALL
            .iter()
            .find(|(_, compare)| *compare == self)
            .map_or("", |(sign, _)| sign)
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::OfBaseline(factor) if (*factor - 1.0).abs() < f64::EPSILON => {
                f.write_str(BASELINE)
            }
            Self::OfBaseline(factor) => write!(f, "{factor} * {BASELINE}"),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column, self.condition())
    }
}

impl Threshold {
    /// Reads `< 25` or `>= 0.95 * baseline` for a column, whose name is not checked.
    ///
    /// # Errors
    /// What is wrong with the condition.
    pub fn parse(column: &str, condition: &str) -> Result<Self, ThresholdError> {
        let text = condition.trim();
        let found = Compare::ALL
            .iter()
            .find_map(|(sign, compare)| Some((*compare, text.strip_prefix(sign)?)));
        let Some((compare, rest)) = found else {
            let message = format!("`{}` does not say how to compare", shown(text));
            return Err(error(message, COMPARISONS));
        };
        Ok(Self {
            column: column.to_owned(),
            compare,
            limit: limit(rest.trim())?,
        })
    }

    /// Reads both in one text: `response_ms.p99 < 25`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse_line(text: &str) -> Result<Self, ThresholdError> {
        let at = text.find(['<', '>', '=']).unwrap_or(text.len());
        let (column, condition) = text.split_at(at);
        match column.trim() {
            "" => {
                let message = format!("`{}` names no number", shown(text));
                Err(error(message, "write for example `response_ms.p99 < 25`"))
            }
            column => Self::parse(column, condition),
        }
    }

    /// What stands behind the column: `< 25`.
    #[must_use]
    pub fn condition(&self) -> String {
        format!("{} {}", self.compare.sign(), self.limit)
    }

    /// Whether it needs a baseline.
    #[must_use]
    pub fn is_relative(&self) -> bool {
        matches!(self.limit, Limit::OfBaseline(_))
    }

    /// Whether a number is as it has to be, where the limit is a number too.
    #[must_use]
    pub fn holds(&self, value: f64) -> Option<bool> {
        match self.limit {
            Limit::Number(limit) => Some(self.compare.holds(value, limit)),
            Limit::OfBaseline(_) => None,
        }
    }
}

fn limit(text: &str) -> Result<Limit, ThresholdError> {
    if text == BASELINE {
        return Ok(Limit::OfBaseline(1.0));
    }
    if let Some((one, other)) = text.split_once('*') {
        return match (one.trim(), other.trim()) {
            (factor, BASELINE) | (BASELINE, factor) => number(factor).map(Limit::OfBaseline),
            (_, other) => {
                let message = format!("`{}` is not `{BASELINE}`", shown(other));
                Err(error(message, "write for example `>= 0.95 * baseline`"))
            }
        };
    }
    number(text).map(Limit::Number)
}

fn number(text: &str) -> Result<f64, ThresholdError> {
    let plain = text.replace('_', "");
    if let Some(number) = plain.parse().ok().filter(|number: &f64| number.is_finite()) {
        return Ok(number);
    }
    let digits = text.find(|c: char| !(c.is_ascii_digit() || "+-._".contains(c)));
    let (value, unit) = text.split_at(digits.unwrap_or(text.len()));
    Err(match value.replace('_', "").parse::<f64>() {
        Ok(_) if !unit.trim().is_empty() => error(
            format!("`{}` has a unit", shown(text)),
            format!("write only the number: {value}; the column says its unit"),
        ),
        _ => error(format!("`{}` is not a number", shown(text)), COMPARISONS),
    })
}

fn error(message: impl Into<String>, help: impl Into<String>) -> ThresholdError {
    ThresholdError {
        message: message.into(),
        help: help.into(),
    }
}

/// User text for a message: short, without what a terminal would obey.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MOST).map(visible).collect()
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

    #[test]
    fn a_threshold_reads_as_it_is_shown() {
        for text in [
            "tps < 25",
            "tps <= 0.5",
            "cpu.user > -3",
            "response_ms.p99 >= 0.95 * baseline",
            "tps >= baseline",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("tps>=baseline*1_000").limit, Limit::OfBaseline(1000.0));
        assert_eq!(read(" tps  <1e3 ").limit, Limit::Number(1000.0));
    }

    #[test]
    fn what_is_none_says_what_to_write() {
        for (text, said) in [
            ("tps", "does not say how to compare"),
            ("tps = 5", "does not say how to compare"),
            ("tps < ", "is not a number"),
            ("tps < inf", "is not a number"),
            ("tps < nan", "is not a number"),
            ("tps < 25 ms", "write only the number: 25;"),
            ("tps < 2 * base", "`base` is not `baseline`"),
            ("tps < x * baseline", "`x` is not a number"),
            ("< 5", "names no number"),
            ("", "names no number"),
        ] {
            let error = Threshold::parse_line(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
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
