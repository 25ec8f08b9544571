//! The seconds of one trial, and the transactions around its faults.

use measure::fault::FaultRecord;
use measure::metric::{Group, METRICS, Metric, MonitorPoint, bracketed, split};
use measure::recovery::{FaultSeries, Number, PHASES};
use measure::series::{SeriesLatency, SeriesPoint};
use measure::slice::Phase;
use measure::summary::TrialSummary;
use measure::warning::Warning;
use serde::Serialize;

use super::overview::{CPU, rounded_to};
use super::thin::{self, Packed};
use crate::list::distinct;
use crate::number;
use crate::recovery::name;
use crate::table::shown_in;

#[derive(Debug, Serialize)]
pub(crate) struct Trial {
    /// The figures in words, for those who do not see them.
    words: String,
    load: Load,
    t: Packed,
    monitors: Vec<Figure>,
    cores: Option<Cores>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    faults: Vec<Fault>,
}

#[derive(Debug, Serialize)]
struct Load {
    t: Packed,
    tps: Packed,
    mean: Packed,
    p95: Packed,
    p99: Packed,
    max: Packed,
    backlog: Option<Packed>,
    /// 99th percentile of the generator's delay.
    delay: Option<Packed>,
    /// Whether there are gaps between the points, in which other variants ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    apart: bool,
    /// Start and end of warm-up and drain.
    aside: Vec<(f64, f64, Phase)>,
    /// When something happened to a node, or a phase of the load began, and what.
    events: Vec<(f64, String)>,
    /// When throughput changed its level, and the levels before and after.
    changes: Vec<(f64, f64, f64)>,
}

/// The figure of a group of metrics: one panel for each unit.
#[derive(Debug, Serialize)]
struct Figure {
    title: &'static str,
    stacked: bool,
    panels: Vec<Panel>,
}

#[derive(Debug, Serialize)]
struct Panel {
    unit: &'static str,
    lines: Vec<Line>,
}

#[derive(Debug, Serialize)]
struct Line {
    name: String,
    /// One of several whose sum is there too: drawn when asked for.
    part: bool,
    y: Packed,
}

/// How each core spent its time, in percent, for each category of [`CPU`].
#[derive(Debug, Serialize)]
struct Cores {
    names: Vec<String>,
    shares: Vec<Packed>,
}

pub(crate) fn trial(
    summary: &TrialSummary,
    series: &[SeriesPoint],
    monitors: &[MonitorPoint],
    faults: Vec<Fault>,
    factor: usize,
) -> Trial {
    let t = monitors
        .chunks(factor)
        .map(|chunk| Some(chunk.first()?.t_s));
    let t: Vec<_> = t.collect();
    let drawn = thin::load(series, factor, summary.setup.planned.turns().is_some());
    let names = thin::drawn(monitors);
    let figures = Group::ALL.into_iter();
    let figures = figures.filter_map(|group| figure(group, &names, monitors, factor));
    Trial {
        words: in_words(&drawn),
        load: load(&drawn, aside(series), summary),
        t: Packed::times(&t),
        monitors: figures.collect(),
        cores: cores(summary),
        faults,
    }
}

fn load(points: &[SeriesPoint], aside: Vec<(f64, f64, Phase)>, summary: &TrialSummary) -> Load {
    let column = |of: &dyn Fn(&SeriesPoint) -> Option<f64>| -> Vec<Option<f64>> {
        points.iter().map(of).collect()
    };
    let time = |of: fn(&SeriesLatency) -> f64| {
        Packed::of(&column(&|point| point.response_ms.as_ref().map(of)))
    };
    let backlog = column(&|point| point.backlog.map(|backlog| backlog as f64));
    let delay = column(&|point| point.delay_ms.map(|delay| delay.p99));
    let if_any = |values: &[Option<f64>]| {
        let is_any = values.iter().any(Option::is_some);
        is_any.then(|| Packed::of(values))
    };
    Load {
        t: Packed::times(&column(&|point| Some(point.t_s))),
        tps: Packed::of(&column(&|point| point.tps)),
        mean: time(|times| times.mean),
        p95: time(|times| times.p95),
        p99: time(|times| times.p99),
        max: time(|times| times.max),
        backlog: if_any(&backlog),
        delay: if_any(&delay),
        apart: summary.setup.planned.turns().is_some(),
        aside,
        events: events(summary),
        changes: changes(summary),
    }
}

fn events(summary: &TrialSummary) -> Vec<(f64, String)> {
    let (events, faults) = (summary.events.iter(), summary.faults.iter());
    let events = events.map(|event| (event.at_s, format!("server {} {}", event.node, event.what)));
    let healed = faults.clone();
    let healed = healed.filter_map(|f| Some((f.healed_s?, format!("healed: {}", f.words()))));
    let struck = faults.map(|fault| (fault.effect_s.unwrap_or(fault.asked_s), fault.words()));
    let phases = summary.by_phase.iter();
    let phases = phases.filter_map(|phase| Some((phase.start_s?, phase.name.clone())));
    let mut all: Vec<_> = events.chain(struck).chain(healed).chain(phases).collect();
    all.sort_by(|(one_s, _), (other_s, _)| one_s.total_cmp(other_s));
    all
}

/// As the trial's warning tells them.
fn changes(summary: &TrialSummary) -> Vec<(f64, f64, f64)> {
    let told = summary.warnings.iter().filter_map(|warning| match warning {
        Warning::LevelChanged { changes } => Some(changes),
        _ => None,
    });
    let round = |value: f64| rounded_to(value, 10.0);
    let levels = told.flatten().map(|change| {
        let (before, after) = (change.before_per_s, change.after_per_s);
        (round(change.at_s), round(before), round(after))
    });
    levels.collect()
}

/// The stretches that are not in the totals.
fn aside(points: &[SeriesPoint]) -> Vec<(f64, f64, Phase)> {
    let round = |seconds: f64| rounded_to(seconds, 1000.0);
    let stretches = points.chunk_by(|one, next| one.phase == next.phase);
    let aside = stretches.filter_map(|stretch| {
        let (first, last) = (stretch.first()?, stretch.last()?);
        let end = round(last.t_s + last.seconds);
        (first.phase != Phase::Measure).then_some((round(first.t_s), end, first.phase))
    });
    aside.collect()
}

fn figure(group: Group, names: &[&str], points: &[MonitorPoint], factor: usize) -> Option<Figure> {
    let metrics = METRICS.iter().filter(|metric| metric.group == group);
    let metrics: Vec<&Metric> = metrics.collect();
    let units = distinct(metrics.iter().map(|metric| metric.unit));
    let panels = units.into_iter().filter_map(|unit| {
        let of_unit = metrics.iter().filter(|metric| metric.unit == unit);
        let lines = of_unit.flat_map(|metric| lines(metric, names, points, factor));
        let lines: Vec<Line> = lines.collect();
        let unit = shown_in(unit).0;
        (!lines.is_empty()).then_some(Panel { unit, lines })
    });
    let panels: Vec<Panel> = panels.collect();
    (!panels.is_empty()).then(|| Figure {
        title: group.words(),
        stacked: group == Group::Cpu,
        panels,
    })
}

/// The lines of one metric: of all things together, and of each where there are
/// several.
fn lines(metric: &Metric, names: &[&str], points: &[MonitorPoint], factor: usize) -> Vec<Line> {
    let scale = shown_in(metric.unit).1;
    let of = |name: &str, part: bool| {
        let values = thin::metric(points, name, factor).into_iter();
        let scaled: Vec<_> = values.map(|value| Some(value? / scale)).collect();
        Line {
            name: measure::column::heading(name),
            part,
            y: Packed::of(&scaled),
        }
    };
    let all = names.contains(&metric.name);
    let is_part = |name: &&str| split(name).0 == metric.name && split(name).1.is_some();
    let each: Vec<&str> = names.iter().copied().filter(is_part).collect();
    let mut lines: Vec<Line> = all.then(|| of(metric.name, false)).into_iter().collect();
    if !all || each.len() > 1 {
        lines.extend(each.into_iter().map(|name| of(name, all)));
    }
    lines
}

fn cores(summary: &TrialSummary) -> Option<Cores> {
    let cores = summary.metrics.keys().filter_map(|name| match split(name) {
        (plain, Some(core)) if plain == "cpu.idle" => Some(core.to_owned()),
        _ => None,
    });
    let mut names: Vec<String> = cores.collect();
    names.sort_by_key(|core| core.parse::<u32>().unwrap_or(u32::MAX));
    let share = |category: &str| {
        let shares = names.iter().map(|core| {
            let name = bracketed(&format!("cpu.{category}"), core);
            summary.metrics.get(&name).map(|metric| metric.mean)
        });
        Packed::of(&shares.collect::<Vec<_>>())
    };
    let shares = CPU.iter().map(|category| share(category)).collect();
    (!names.is_empty()).then_some(Cores { names, shares })
}

fn in_words(points: &[SeriesPoint]) -> String {
    let rates = || points.iter().filter_map(|point| point.tps);
    let most = rates().max_by(f64::total_cmp);
    let Some((least, most)) = rates().min_by(f64::total_cmp).zip(most) else {
        return "This trial has no series.".to_owned();
    };
    let times = points.iter().filter_map(|point| point.response_ms);
    let longest = times.map(|times| times.p99).max_by(f64::total_cmp);
    let length_s: f64 = points.iter().map(|point| point.seconds).sum();
    format!(
        "Over {} seconds, between {} and {} transactions per second; the 99th percentile of the \
         response time of a second is at most {} ms.",
        number::count(length_s.round() as u64),
        number::value(least),
        number::value(most),
        number::maybe(longest)
    )
}

#[derive(Debug, Serialize)]
pub(super) struct Fault {
    name: String,
    /// In seconds from the origin of the fault's recovery.
    t: Packed,
    tps: Packed,
    /// How long a point is, in milliseconds.
    step_ms: f64,
    /// When what happened, in seconds from that.
    marks: Vec<(f64, String)>,
}

/// How many intervals a point covers, so that all faults fit.
pub(super) fn fault_factor(series: &[Vec<FaultSeries>]) -> usize {
    const MOST_POINTS: usize = 200_000;
    let points = series.iter().flatten().map(|series| series.t_s.len());
    points.sum::<usize>().div_ceil(MOST_POINTS).max(1)
}

pub(super) fn faults(trial: &TrialSummary, series: &[FaultSeries], factor: usize) -> Vec<Fault> {
    let drawn = series.iter();
    let drawn = drawn.filter_map(|series| fault(trial, series, factor));
    drawn.collect()
}

/// The fault that a series is about.
pub(super) fn record<'a>(trial: &'a TrialSummary, series: &FaultSeries) -> Option<&'a FaultRecord> {
    let mut faults = trial.faults.iter();
    faults.find(|fault| fault.place() == series.place())
}

fn fault(trial: &TrialSummary, series: &FaultSeries, factor: usize) -> Option<Fault> {
    let fault = record(trial, series)?;
    let origin_s = fault.origin_s()?;
    let mut begin_s = *series.t_s.first()?;
    let (mut t, mut tps) = (Vec::new(), Vec::new());
    let ends = series.t_s.get(1..)?.chunks(factor);
    for (ends, completed) in ends.zip(series.completed.get(1..)?.chunks(factor)) {
        let end_s = *ends.last()?;
        let completed: u64 = completed.iter().sum();
        t.push(Some(end_s - origin_s));
        tps.push(Some(completed as f64 / (end_s - begin_s)));
        begin_s = end_s;
    }
    let length_s = begin_s - series.t_s.first()?;
    Some(Fault {
        name: name(fault, trial),
        step_ms: (length_s / t.len().max(1) as f64 * 1e3).round(),
        t: Packed::times(&t),
        tps: Packed::of(&tps),
        marks: marks(fault, origin_s),
    })
}

/// The effect, the phases of the recovery, and the healing.
fn marks(fault: &FaultRecord, origin_s: f64) -> Vec<(f64, String)> {
    let round = |seconds: f64| rounded_to(seconds, 1000.0);
    let at = |at_s: Option<f64>, what: String| Some((round(at_s? - origin_s), what));
    let phases = fault.recovery.iter().flat_map(|found| {
        let at = |phase: &Number| Some((round((phase.of)(found)?), phase.heading.to_owned()));
        PHASES.iter().filter_map(at).collect::<Vec<_>>()
    });
    let healed = at(fault.healed_s, "healed".to_owned());
    let effect = at(fault.effect_s, fault.kind.to_string()).into_iter();
    let mut marks: Vec<_> = effect.chain(phases).chain(healed).collect();
    marks.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    marks
}
