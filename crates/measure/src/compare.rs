//! The change from a base to a new side, with its confidence interval, and the verdict.
//!
//! Noise in throughput and response times is multiplicative, so the change is the ratio of geometric
//! means, and its interval Student's t on logarithms. Where both sides ran in the same blocks, each
//! block gives one log ratio, so that what changed on the host between blocks cancels (Box, Hunter
//! and Hunter, *Statistics for Experimenters*: "block what you can, randomize what you cannot");
//! otherwise, the sides are independent samples (Welch, "The generalization of Student's problem
//! when several different population variances are involved", Biometrika 34, 1947, with
//! Satterthwaite's degrees of freedom). The observations are runs, each with a start of its own:
//! many seconds of one start say little about the next.
//!
//! One interval decides everything: a change is real when the interval excludes 0, and the sides are
//! equivalent when it lies within the least difference that matters: two one-sided tests (Schuirmann,
//! "A comparison of the two one-sided tests procedure and the power approach", Journal of
//! Pharmacokinetics and Biopharmaceutics 15, 1987), each at half the level, so that the interval
//! that is shown says the same. `family.rs` sets the levels of many comparisons, `boundary.rs` those of
//! one that is looked at several times, and `power.rs` says how many repeats would lead to a verdict.

mod boundary;
mod carry_over;
mod family;
mod look;
mod noise;
mod power;
mod ranks;
mod rounds;
mod turns;
mod verdict;

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

pub use boundary::{Boundary, FIRST_LOOK, MOST_LOOKS, looks};
pub use carry_over::{CARRY_OVER, carried, carry_over};
pub use family::{Gated, decide};
pub use look::{FUTILE, Look};
pub use noise::{Noise, NoiseRun, PAIRS};
pub use power::{FEWEST_REPEATS, MOST_REPEATS, POWER};
pub use ranks::{Observed, compare_observed, compare_ranks};
pub(crate) use rounds::TURNS;
pub use turns::Block;
pub use verdict::{Decision, NoVerdict};

use crate::interval::{CONFIDENCE, Estimate, mean, variance};
use crate::quantile::Range;
use crate::student;
use crate::summary::TrialSummary;
use turns::starts_in_turns;

/// The default of the least difference that matters: 2 %.
pub const LEAST: f64 = 0.02;
/// Family-wise error rate: the probability (0 to 1) that a family without any difference shows one.
pub const ERROR_RATE: f64 = 1.0 - CONFIDENCE;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sense {
    /// Like throughput.
    HigherIsBetter,
    /// Like response time.
    LowerIsBetter,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Question {
    pub sense: Sense,
    /// Whether both sides ran interleaved, in blocks: trials with the same repeat number ran in the
    /// same block. Otherwise there is no verdict, because a change of the host over time looks like
    /// a difference between the sides.
    pub interleaved: bool,
    /// Whether each trial started its own server. Otherwise there is no verdict, because even
    /// identical servers differ from start to start.
    pub restarted: bool,
    /// The least difference that matters, as a share of the base (above 0); [`LEAST`] by default.
    pub least: f64,
    /// If the comparison is looked at after several numbers of repeats, and may end each time: interval and p
    /// are those of the look (repeated), and hold for all looks together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boundary: Option<Boundary>,
}

/// A number of one trial.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measured {
    /// The trial's repeat number, counted from 1.
    pub repeat: u32,
    /// The number, with an interval from the trial's own seconds.
    pub value: Estimate,
}

/// What an interval is computed from.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum Method {
    /// A ratio for each block that has both sides.
    Blocks { blocks: usize },
    /// All runs of one side against all runs of the other.
    Runs { base: usize, new: usize },
    /// The ranks of all runs.
    Ranks {
        base: usize,
        new: usize,
        /// The share (0 to 1) of all pairs of runs in which the new one is longer; ties count as half.
        new_longer: f64,
    },
    /// A side has a single run, so there is no interval.
    SingleRun,
    /// The turns of one start, in rounds of two turns for each side.
    Turns { rounds: usize },
}

impl Method {
    /// Repeats of each side.
    fn repeats(self) -> u32 {
        let repeats = match self {
            Self::Blocks { blocks } => blocks,
            Self::Runs { base, new } | Self::Ranks { base, new, .. } => base.min(new),
            Self::SingleRun => 1,
            Self::Turns { rounds } => rounds,
        };
        u32::try_from(repeats).unwrap_or(u32::MAX)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks { blocks } => write!(f, "over {blocks} blocks"),
            Self::Runs { base, new } => write!(f, "over {base} and {new} runs"),
            Self::Ranks { base, new, .. } => write!(f, "by ranks of {base} and {new} runs"),
            Self::SingleRun => f.write_str("of single runs, without an interval"),
            Self::Turns { rounds } => write!(f, "over {rounds} rounds of turns of one start"),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Change {
    pub value: f64,
    /// The confidence interval; `None` with a single run on a side.
    pub interval: Option<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct LogRatio {
    /// Natural logarithm of new over base.
    pub mean: f64,
    pub error: f64,
    pub degrees: f64,
    /// Standard deviation of the log ratio of one run of each side.
    pub spread: f64,
    /// Degrees of freedom that each run of both sides beyond the first adds: 1 to 2.
    pub degrees_per_run: f64,
}

/// The new side against the base.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Comparison {
    pub question: Question,
    pub base: f64,
    pub new: f64,
    /// By how many percent the new mean exceeds the base's.
    pub change_pct: Change,
    /// Confidence level (0 to 1) of the interval, at which the verdict was decided.
    pub confidence: f64,
    pub method: Method,
    /// The change on the logarithmic scale; `None` with a single run on a side.
    pub log_ratio: Option<LogRatio>,
    /// Probability (0 to 1) of as large a change by chance; `None` with a single run.
    pub p: Option<f64>,
    /// `p`, adjusted for all comparisons that were decided together; `None` if nothing was tested.
    pub p_adjusted: Option<f64>,
    pub decision: Decision,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoComparison {
    /// One side has no trial with the number.
    #[error("one side has no trial that measured this")]
    Nothing,
    /// A ratio to or of 0.
    #[error("a trial measured 0, so there is no ratio")]
    Zero,
    /// Ranks of a single run: a time is 0 or censored, so there are no ratios.
    #[error(
        "a time is 0 or was not over when its trial ended, and a single run does not show how much runs differ"
    )]
    SingleRank,
    /// A percentile of too few transactions, which is a matter of chance.
    #[error("fewer than 10 transactions of a trial exceeded the percentile: measure longer")]
    FewSlower,
}

/// Compares the trials of the new side with those of the base at the same point, as a single
/// comparison; [`decide`] decides several together.
pub fn compare(
    base: &[Measured],
    new: &[Measured],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    if base.is_empty() || new.is_empty() {
        return Err(NoComparison::Nothing);
    }
    let is_positive = |trial: &Measured| trial.value.value > 0.0 && trial.value.value.is_finite();
    if !base.iter().chain(new).all(is_positive) {
        return Err(NoComparison::Zero);
    }
    let pairs = blocks(base, new);
    let blocks = pairs.len();
    let is_blocked = question.interleaved && blocks > 1;
    let sides: [Vec<f64>; 2] = match is_blocked {
        true => [0, 1].map(|side| pairs.iter().map(|pair| pair[side]).collect()),
        false => [base, new].map(logs),
    };
    let (method, log_ratio) = match (base.len(), new.len()) {
        _ if is_blocked => (Method::Blocks { blocks }, Some(by_blocks(&pairs))),
        (1, _) | (_, 1) => (Method::SingleRun, None),
        (base, new) => (Method::Runs { base, new }, Some(by_runs(&sides))),
    };
    let [base_log, new_log] = sides.map(|side| mean(&side));
    let no_verdict = matches!(method, Method::SingleRun).then(|| NoVerdict::SingleRun {
        repeats_needed: power::after_single_runs(base, new, new_log - base_log, question.least),
    });
    let found = Found {
        base: base_log.exp(),
        new: new_log.exp(),
        change: percent(new_log - base_log),
        log_ratio,
        p: log_ratio.map(|ratio| student::p_value(ratio.mean / ratio.error, ratio.degrees)),
        no_verdict,
    };
    Ok(found.compared(method, question))
}

/// The numbers of a comparison before its verdict.
struct Found {
    base: f64,
    new: f64,
    /// In percent.
    change: f64,
    log_ratio: Option<LogRatio>,
    /// For a single look.
    p: Option<f64>,
    /// The reason for having no verdict, if the data do not allow one.
    no_verdict: Option<NoVerdict>,
}

impl Found {
    /// The comparison, decided alone.
    fn compared(self, method: Method, question: &Question) -> Comparison {
        let reason = match (question.interleaved, question.restarted) {
            (false, _) => Some(NoVerdict::NotInterleaved),
            (_, false) => Some(NoVerdict::NotRestarted),
            _ => self.no_verdict,
        };
        let boundary = question.boundary;
        let overall = |p| boundary.map_or(p, |boundary| boundary.overall(p, method.repeats()));
        let p = self.p.map(overall);
        let mut found = Comparison {
            question: *question,
            base: self.base,
            new: self.new,
            change_pct: Change {
                value: self.change,
                interval: None,
            },
            confidence: CONFIDENCE,
            method,
            log_ratio: self.log_ratio,
            p,
            p_adjusted: None,
            decision: Decision::NoVerdict {
                reason: reason.unwrap_or(NoVerdict::NotInterleaved),
            },
        };
        match reason {
            Some(reason) => found.leave_open(reason),
            None => found.settle(ERROR_RATE, p.unwrap_or(1.0)),
        }
        found
    }
}

/// Compares the throughput of two variants, or the mean or a percentile of their response times, by
/// their turns in one start. The interval applies to these processes only, so there is no verdict.
pub fn compare_turns(
    base: &TrialSummary,
    new: &TrialSummary,
    column: &str,
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let found = match column {
        "tps" => rounds::by_rounds([&base.turns, &new.turns]),
        _ => rounds::by_groups([base, new], column),
    };
    let ([base, new], ratio, rounds) = found.ok_or(NoComparison::Nothing)?;
    let found = Found {
        base,
        new,
        change: percent(ratio.mean),
        log_ratio: Some(ratio),
        p: Some(student::p_value(ratio.mean / ratio.error, ratio.degrees)),
        no_verdict: Some(NoVerdict::NotRestarted),
    };
    let question = Question {
        boundary: None,
        ..*question
    };
    Ok(found.compared(Method::Turns { rounds }, &question))
}

/// Compares two sides by their geometric means over several points. Trials of one repeat ran in the
/// same block and share its noise, so points are averaged within each repeat, and the interval is
/// over the repeats. Repeats that lack a point are left out.
pub fn average(
    points: &[[&[Measured]; 2]],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let side = |side: usize| -> Vec<Measured> {
        let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for trial in points.iter().flat_map(|point| point[side]) {
            let of_repeat = logs.entry(trial.repeat).or_default();
            of_repeat.push(trial.value.value.ln());
        }
        let whole = logs.into_iter();
        let whole = whole.filter(|(_, logs)| logs.len() == points.len());
        let measured = whole.map(|(repeat, logs)| Measured {
            repeat,
            value: Estimate::exact(mean(&logs).exp()),
        });
        measured.collect()
    };
    compare(&side(0), &side(1), question)
}

impl Comparison {
    /// Shows the change with its unadjusted interval, and records why nothing was tested.
    pub fn leave_open(&mut self, reason: NoVerdict) {
        self.set_interval(CONFIDENCE);
        self.p_adjusted = None;
        self.decision = Decision::NoVerdict { reason };
    }

    /// Decides at an error rate (0 to 1), and shows the interval at that level.
    fn settle(&mut self, error_rate: f64, p_adjusted: f64) {
        self.set_interval(1.0 - error_rate);
        self.p_adjusted = Some(p_adjusted);
        self.decision = match self.method {
            Method::Ranks { new_longer, .. } => self.decided_by_ranks(error_rate, new_longer),
            _ => self.decided(error_rate),
        };
    }

    /// Ranks do not say by how much the sides differ, so they are never equivalent.
    fn decided_by_ranks(&self, error_rate: f64, new_longer: f64) -> Decision {
        match self.p {
            Some(p) if p < error_rate => self.differs(new_longer > 0.5),
            _ => Decision::Undecided {
                repeats_needed: None,
            },
        }
    }

    fn differs(&self, is_higher: bool) -> Decision {
        match is_higher == (self.question.sense == Sense::HigherIsBetter) {
            true => Decision::Faster,
            false => Decision::Slower,
        }
    }

    /// The change with its interval as one of `comparisons` comparisons (Bonferroni's correction).
    pub fn change_among(&self, comparisons: usize) -> Change {
        Change {
            interval: self.interval(1.0 - ERROR_RATE / comparisons.max(1) as f64),
            ..self.change_pct
        }
    }

    fn set_interval(&mut self, confidence: f64) {
        self.confidence = confidence;
        self.change_pct.interval = self.interval(confidence);
    }

    fn interval(&self, confidence: f64) -> Option<Range> {
        let ratio = self.log_ratio?;
        let level = self.level(1.0 - confidence, self.method.repeats());
        let t = student::quantile(1.0 - level / 2.0, ratio.degrees);
        Some(Range {
            low: percent(ratio.mean - t * ratio.error),
            high: percent(ratio.mean + t * ratio.error),
        })
    }

    /// The level of the interval after so many repeats if the comparison has this error rate.
    fn level(&self, error_rate: f64, repeats: u32) -> f64 {
        let boundary = self.question.boundary;
        boundary.map_or(error_rate, |boundary| boundary.nominal(error_rate, repeats))
    }

    fn decided(&self, error_rate: f64) -> Decision {
        let (Some(Range { low, high }), Some(ratio)) = (self.change_pct.interval, self.log_ratio)
        else {
            return self.decision;
        };
        let least = 100.0 * self.question.least;
        let change = self.change_pct.value;
        let is_real = low > 0.0 || high < 0.0;
        if is_real && change.abs() >= least {
            return self.differs(change > 0.0);
        }
        if low >= -least && high <= least {
            return Decision::Equivalent;
        }
        Decision::Undecided {
            repeats_needed: power::after_repeats(
                &ratio,
                self.question.least,
                // At the level of the last look.
                self.level(error_rate, u32::MAX),
            ),
        }
    }
}

/// A log ratio as a change in percent.
fn percent(log_ratio: f64) -> f64 {
    100.0 * log_ratio.exp_m1()
}

fn logs(trials: &[Measured]) -> Vec<f64> {
    let logs = trials.iter().map(|trial| trial.value.value.ln());
    logs.collect()
}

/// The logarithms of base and new in each block, that is repeat, that has both.
pub(crate) fn blocks(base: &[Measured], new: &[Measured]) -> Vec<[f64; 2]> {
    let by_repeat = |trials: &[Measured]| -> BTreeMap<u32, f64> {
        let pairs = trials.iter().zip(logs(trials));
        pairs.map(|(trial, log)| (trial.repeat, log)).collect()
    };
    let new = by_repeat(new);
    let block = |(repeat, base)| Some([base, *new.get(&repeat)?]);
    by_repeat(base).into_iter().filter_map(block).collect()
}

pub(crate) fn by_blocks(blocks: &[[f64; 2]]) -> LogRatio {
    let ratios: Vec<f64> = blocks.iter().map(|[base, new]| new - base).collect();
    let (count, mean) = (ratios.len() as f64, mean(&ratios));
    let spread = variance(&ratios, mean).sqrt();
    LogRatio {
        mean,
        error: spread / count.sqrt(),
        degrees: count - 1.0,
        spread,
        degrees_per_run: 1.0,
    }
}

fn by_runs(sides: &[Vec<f64>; 2]) -> LogRatio {
    let [base, new] = sides.each_ref().map(|side| {
        let mean = mean(side);
        (mean, variance(side, mean), side.len() as f64)
    });
    let of_means = [base.1 / base.2, new.1 / new.2];
    let squares = of_means[0].powi(2) / (base.2 - 1.0) + of_means[1].powi(2) / (new.2 - 1.0);
    let degrees = (of_means[0] + of_means[1]).powi(2) / squares;
    let per_run = (base.1 + new.1).powi(2) / (base.1.powi(2) + new.1.powi(2));
    // Without any variance, every difference is certain.
    let known = |degrees: f64| if degrees.is_nan() { 1.0 } else { degrees };
    LogRatio {
        mean: new.0 - base.0,
        error: (of_means[0] + of_means[1]).sqrt(),
        degrees: known(degrees),
        spread: (base.1 + new.1).sqrt(),
        degrees_per_run: known(per_run),
    }
}

#[cfg(test)]
#[path = "compare_tests.rs"]
mod tests;
