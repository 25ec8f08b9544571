//! The figures of a whole result.

use measure::curve::together;
use measure::find_max::{AtRate, StepVerdict};
use measure::interval::Estimate;
use measure::recovery::FaultSeries;
use measure::result::RunResult;
use measure::scale::Scaling;
use measure::summary::{TrialSummary, counted};
use plan::Value;
use serde::Serialize;

use super::aligned::{Aligned, aligned};
use crate::cell::Cell;
use crate::keys::{self, Names, VARIANT, others, trials_of};
use crate::metric_comparison::measured;
use crate::{lead, point, scale, search};

/// The categories of CPU time, from the bottom of the stack to its top.
pub(super) const CPU: [&str; 8] = [
    "user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle",
];

#[derive(Debug, Serialize)]
pub(crate) struct Overview {
    sweep: Option<Sweep>,
    searches: Vec<Search>,
    scale: Option<Scale>,
    curves: Vec<Curve>,
    recoveries: Vec<Aligned>,
    cpu: [&'static str; 8],
    names: Vec<String>,
    /// The place of the trial that is shown first, from 1.
    best: usize,
}

impl Overview {
    /// With the curves of two `variants` in pairs, if it compares them.
    pub(super) fn of(
        result: &RunResult,
        faults: &[Vec<FaultSeries>],
        variants: Option<[&str; 2]>,
    ) -> Self {
        let (names, trials) = (Names::of(result), result.trials.iter());
        let names = trials.map(|trial| names.trial(trial));
        Self {
            sweep: sweep(result),
            searches: searches(result),
            scale: scale(result),
            curves: variants.map_or_else(|| curves(result), |two| curves_of_two(result, two)),
            recoveries: aligned(result, faults),
            cpu: CPU,
            names: names.collect(),
            best: lead::best_trial(result),
        }
    }
}

/// The results against one swept key, with a line for each combination of the others.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep {
    pub(crate) key: String,
    numeric: bool,
    x: Vec<String>,
    lines: Vec<SweepLine>,
    /// Whether the monitors saw the CPUs.
    pub(crate) cpu: bool,
}

/// All lists are as long as `x`.
#[derive(Debug, Serialize)]
struct SweepLine {
    name: String,
    tps: Vec<Mark>,
    mean: Vec<Mark>,
    p95: Vec<Mark>,
    p99: Vec<Mark>,
    cpu: [Vec<Mark>; CPU.len()],
}

#[derive(Debug, Serialize)]
struct Mark {
    value: Option<f64>,
    half: Option<f64>,
    /// The single runs where they are too few for an interval.
    runs: Vec<f64>,
}

impl From<Option<Estimate>> for Mark {
    fn from(estimate: Option<Estimate>) -> Self {
        Self {
            value: estimate.map(|estimate| estimate.value),
            half: estimate.and_then(|estimate| estimate.half_width),
            runs: Vec::new(),
        }
    }
}

impl Mark {
    fn of(trials: &[&TrialSummary], column: &str) -> Self {
        let cell = Cell::of(trials, column);
        let runs = measured(trials, column).into_iter();
        let runs = runs.filter(|_| cell.has_few_trials());
        Self {
            runs: runs.map(|run| run.value.value).collect(),
            ..cell.estimate.into()
        }
    }
}

impl Sweep {
    /// Whether some point has an interval, and whether some has too few repeats for one.
    pub(crate) fn marks(&self) -> (bool, bool) {
        let any = |is: fn(&Mark) -> bool| self.lines.iter().flat_map(|line| &line.tps).any(is);
        (
            any(|mark| mark.half.is_some()),
            any(|mark| !mark.runs.is_empty()),
        )
    }
}

/// `None` when no key has two values, and of a search, whose steps are no sweep.
pub(crate) fn sweep(result: &RunResult) -> Option<Sweep> {
    let (trials, axes) = (trials_of(result), keys::axes(result));
    let key = keys::main(&result.design.tables, &trials, &axes)?;
    let x = keys::values(&trials, key);
    let lines = keys::groups(&trials, &others(&axes, key), &axes).into_iter();
    let lines = lines.map(|group| {
        let points = x.iter().map(|x| keys::having(&group.trials, key, *x));
        let points: Vec<Vec<&TrialSummary>> = points.collect();
        let marks = |column: &str| points.iter().map(|at| Mark::of(at, column)).collect();
        SweepLine {
            name: group.name,
            tps: marks("tps"),
            mean: marks("response_ms.mean"),
            p95: marks("response_ms.p95"),
            p99: marks("response_ms.p99"),
            cpu: CPU.map(|category| marks(&format!("cpu.{category}"))),
        }
    });
    let has_cpu = |trial: &&TrialSummary| trial.metrics.contains_key("cpu.user");
    result.searches.is_empty().then(|| Sweep {
        key: keys::short(key, &axes).to_owned(),
        numeric: x.iter().all(|x| x.and_then(Value::as_number).is_some()),
        lines: lines.collect(),
        cpu: trials.iter().any(has_cpu),
        x: x.iter().copied().map(keys::shown).collect(),
    })
}

/// Throughput against size, as measured and by the laws of scaling.
#[derive(Debug, Serialize)]
struct Scale {
    key: String,
    lines: Vec<ScaleLine>,
}

/// One ladder, and the laws at more sizes; none without a law.
#[derive(Debug, Serialize)]
struct ScaleLine {
    name: String,
    x: Vec<f64>,
    tps: Vec<Mark>,
    at: Vec<f64>,
    usl: Vec<f64>,
    amdahl: Vec<Option<f64>>,
}

/// `None` without a law.
fn scale(result: &RunResult) -> Option<Scale> {
    let found = scale::Scale::of(result)?;
    let fitted = found.ladders.iter().any(|ladder| ladder.law.is_ok());
    fitted.then(|| Scale {
        lines: found.ladders.into_iter().map(scale_line).collect(),
        key: found.key,
    })
}

fn scale_line(ladder: scale::Ladder) -> ScaleLine {
    let law = ladder.law.as_ref().ok();
    let at = law.map_or_else(Vec::new, |law| sizes(law, &ladder));
    let usl = |size: &f64| Some(rounded_to(law?.per_s(*size), 100.0));
    let amdahl = |size: &f64| Some(rounded_to(law?.amdahl_per_s(*size)?, 100.0));
    let rungs = ladder.rungs.iter();
    ScaleLine {
        x: rungs.clone().map(|rung| rung.size).collect(),
        tps: rungs.map(|rung| rung.tps.estimate.into()).collect(),
        usl: at.iter().filter_map(usl).collect(),
        amdahl: at.iter().map(amdahl).collect(),
        at,
        name: ladder.name,
    }
}

/// Evenly from the smallest size to the largest, or to a peak that is not far beyond it.
fn sizes(law: &Scaling, ladder: &scale::Ladder) -> Vec<f64> {
    const STEPS: u32 = 80;
    const MOST_BEYOND: f64 = 1.5;
    let smallest = ladder.rungs.first().map_or(1.0, |rung| rung.size);
    let largest = ladder.largest();
    let peak = law.peak.map_or(0.0, |peak| peak.size.value);
    let is_near = peak <= MOST_BEYOND * largest;
    let end = if is_near { largest.max(peak) } else { largest };
    let step = (end - smallest) / f64::from(STEPS);
    let sizes = (0..=STEPS).map(|place| rounded_to(smallest + step * f64::from(place), 100.0));
    sizes.collect()
}

pub(super) fn rounded_to(value: f64, per_unit: f64) -> f64 {
    (value * per_unit).round() / per_unit
}

#[derive(Debug, Serialize)]
struct Search {
    /// Empty where there is only one.
    name: String,
    column: String,
    limit: f64,
    curve: Vec<Rate>,
    overloaded: Vec<Rate>,
    /// The place on the curve where response times begin to climb.
    knee: Vec<Rate>,
    /// The highest rate, with half of its interval.
    highest: Option<Mark>,
}

/// A requested rate, and the throughput and response time at it.
#[derive(Debug, Serialize)]
struct Rate {
    rate: f64,
    tps: Option<f64>,
    ms: Mark,
}

impl From<AtRate> for Rate {
    fn from(at: AtRate) -> Self {
        Self {
            rate: at.rate_per_s,
            tps: Some(at.achieved_per_s),
            ms: Some(at.value_ms).into(),
        }
    }
}

fn searches(result: &RunResult) -> Vec<Search> {
    let searches = result.searches.iter().map(|search| {
        let steps = search.steps.iter();
        let overloaded = steps.filter(|step| step.verdict == StepVerdict::Overloaded);
        let overloaded = overloaded.map(|step| Rate {
            rate: step.rate_per_s,
            tps: step.achieved_per_s,
            ms: step.value_ms.map(Estimate::exact).into(),
        });
        Search {
            name: search::name(search, result),
            column: measure::column::heading(&search.column),
            limit: search.limit_ms,
            curve: search.curve().into_iter().map(Rate::from).collect(),
            overloaded: overloaded.collect(),
            knee: search.knee().map(Rate::from).into_iter().collect(),
            highest: search.rate.map(|rate| Some(rate).into()),
        }
    });
    searches.collect()
}

#[derive(Debug, Serialize)]
struct Curve {
    name: String,
    /// Its point and its variant (0 or 1), in a comparison of two variants.
    pair: Option<(usize, usize)>,
    count: u64,
    quantile: Vec<f64>,
    ms: Vec<f64>,
}

/// Of every point of the study; of a search, of each step.
fn curves(result: &RunResult) -> Vec<Curve> {
    let names = Names::of(result);
    let of = |trials: &[&TrialSummary]| curve(trials, None, &names);
    if result.searches.is_empty() {
        let points = point::of_result(result).into_iter();
        return points.filter_map(|point| of(&point.trials)).collect();
    }
    let steps = result.trials.iter();
    steps.filter_map(|step| of(&[step])).collect()
}

/// Of both variants at each point, one after the other.
fn curves_of_two(result: &RunResult, variants: [&str; 2]) -> Vec<Curve> {
    let names = &Names::of(result);
    let axes = keys::axes(result);
    let points = keys::groups(&trials_of(result), &others(&axes, VARIANT), &axes);
    let curves = points.iter().enumerate().flat_map(|(point, group)| {
        let sides = variants.into_iter().enumerate();
        sides.filter_map(move |(side, variant)| {
            curve(&group.of_variant(variant), Some((point, side)), names)
        })
    });
    curves.collect()
}

fn curve(
    trials: &[&TrialSummary],
    pair: Option<(usize, usize)>,
    names: &Names<'_>,
) -> Option<Curve> {
    let counted = counted(trials);
    let name = names.repeats(&counted)?;
    let parts = counted.iter().map(|trial| {
        let curve = trial.response_curve.as_slice();
        (trial.transactions.count, curve)
    });
    let parts: Vec<_> = parts.collect();
    let points = together(&parts);
    let ms = points.iter().map(|point| rounded_to(point.ms, 1000.0));
    Some(Curve {
        name,
        pair,
        count: parts.iter().map(|(count, _)| count).sum(),
        quantile: points.iter().map(|point| point.quantile).collect(),
        ms: ms.collect(),
    })
}
