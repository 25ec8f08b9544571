//! The results against one swept key.

use measure::result::RunResult;
use measure::summary::TrialSummary;
use plan::Value;
use serde::Serialize;

use crate::cell::{Cell, runs};
use crate::keys;

/// The categories of CPU time, from the bottom of the stack to its top.
pub(super) const CPU: [&str; 8] = [
    "user", "nice", "system", "irq", "softirq", "steal", "iowait", "idle",
];

/// A line for each combination of the other keys.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep {
    pub(crate) key: String,
    /// Whether every value is a number.
    numeric: bool,
    x: Vec<String>,
    lines: Vec<Line>,
    /// Whether the monitors saw the CPUs.
    pub(crate) cpu: bool,
}

impl Sweep {
    /// Whether some point has an interval, and whether some has too few repeats for one.
    pub(crate) fn marks(&self) -> (bool, bool) {
        let any = |of: fn(&Line) -> bool| self.lines.iter().any(of);
        (
            any(|line| line.tps_half.iter().any(Option::is_some)),
            any(|line| line.tps_runs.iter().any(|runs| !runs.is_empty())),
        )
    }
}

/// One line; all lists are as long as `x`.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    n: Vec<usize>,
    tps: Vec<Option<f64>>,
    tps_half: Vec<Option<f64>>,
    /// The single runs of each point that has too few for an interval.
    tps_runs: Vec<Vec<f64>>,
    mean: Vec<Option<f64>>,
    mean_half: Vec<Option<f64>>,
    mean_runs: Vec<Vec<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    /// In percent, for each category of [`CPU`].
    cpu: Vec<Vec<Option<f64>>>,
}

/// `None` when no key has two values.
pub(crate) fn sweep(result: &RunResult) -> Option<Sweep> {
    let trials: Vec<&TrialSummary> = result.trials.iter().collect();
    let axes = keys::axes(result);
    let key = keys::main(&result.design.tables, &trials, &axes)?;
    let x = keys::values(&trials, key);
    let others: Vec<&str> = axes.iter().copied().filter(|other| *other != key).collect();
    let lines = keys::groups(&trials, &others).into_iter().map(|group| {
        let name = keys::name(&others, &group.values, &axes);
        line(name, &group.trials, key, &x)
    });
    Some(Sweep {
        key: keys::short(key, &axes).to_owned(),
        numeric: x.iter().all(|x| x.and_then(Value::as_number).is_some()),
        lines: lines.collect(),
        x: x.into_iter().map(keys::shown).collect(),
        cpu: trials
            .iter()
            .any(|trial| trial.metrics.contains_key("cpu.user")),
    })
}

fn line(name: String, trials: &[&TrialSummary], key: &str, x: &[Option<&Value>]) -> Line {
    let at = |x: &Option<&Value>| {
        let trials = trials.iter().copied();
        trials
            .filter(|trial| keys::value(trial, key) == *x)
            .collect()
    };
    let points: Vec<Vec<&TrialSummary>> = x.iter().map(at).collect();
    let cells = |column: &str| -> Vec<Cell> {
        let points = points.iter();
        points.map(|trials| Cell::of(trials, column)).collect()
    };
    let values = |cells: &[Cell]| cells.iter().map(Cell::value).collect();
    let halves = |cells: &[Cell]| cells.iter().map(Cell::half_width).collect();
    let few = |cells: &[Cell], column: &str| {
        let points = points.iter().zip(cells);
        let runs = points.map(|(trials, cell)| match cell.has_few_trials() {
            true => runs(trials, column),
            false => Vec::new(),
        });
        runs.collect()
    };
    let (tps, mean) = (cells("tps"), cells("response_ms.mean"));
    Line {
        name,
        n: tps.iter().map(|cell| cell.n).collect(),
        tps: values(&tps),
        tps_half: halves(&tps),
        tps_runs: few(&tps, "tps"),
        mean: values(&mean),
        mean_half: halves(&mean),
        mean_runs: few(&mean, "response_ms.mean"),
        p95: values(&cells("response_ms.p95")),
        p99: values(&cells("response_ms.p99")),
        cpu: CPU
            .map(|category| values(&cells(&format!("cpu.{category}"))))
            .to_vec(),
    }
}
