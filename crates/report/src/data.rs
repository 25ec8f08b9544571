//! The numbers of the figures, as JSON inside the page.

use measure::series::SeriesPoint;
use measure::slice::Phase;
use measure::summary::TrialSummary;
use serde::Serialize;

use crate::describe;
use crate::thin::thin;

/// Everything that the figures draw.
#[derive(Debug, Serialize)]
pub(crate) struct Data {
    pub(crate) sweep: Option<Sweep>,
    curves: Vec<Curve>,
    series: Vec<Series>,
}

/// The results against one swept key, a line for each value of the others.
#[derive(Debug, Serialize)]
pub(crate) struct Sweep {
    pub(crate) key: String,
    /// Whether every value is a number.
    numeric: bool,
    lines: Vec<Line>,
}

#[derive(Debug, Default, Serialize)]
struct Line {
    name: String,
    x: Vec<String>,
    tps: Vec<Option<f64>>,
    tps_half: Vec<Option<f64>>,
    mean: Vec<Option<f64>>,
    mean_half: Vec<Option<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
}

#[derive(Debug, Serialize)]
struct Curve {
    name: String,
    count: u64,
    quantile: Vec<f64>,
    ms: Vec<f64>,
}

#[derive(Debug, Serialize)]
struct Series {
    t: Vec<f64>,
    tps: Vec<Option<f64>>,
    mean: Vec<Option<f64>>,
    p95: Vec<Option<f64>>,
    p99: Vec<Option<f64>>,
    max: Vec<Option<f64>>,
    backlog: Option<Vec<Option<u64>>>,
    /// Start and end of warm-up and drain.
    aside: Vec<(f64, f64, Phase)>,
}

impl Data {
    /// Of all trials and their series (in the same order); each point of a series
    /// stands for `factor` seconds.
    pub(crate) fn of(trials: &[TrialSummary], series: &[Vec<SeriesPoint>], factor: usize) -> Self {
        Self {
            sweep: sweep(trials),
            curves: trials.iter().map(curve).collect(),
            series: series
                .iter()
                .map(|points| one_series(&thin(points, factor)))
                .collect(),
        }
    }

    /// As JSON that may stand in a `<script>`: nothing in it can end the element
    /// or open a comment, and no line separator can break it.
    pub(crate) fn json(&self) -> Result<String, serde_json::Error> {
        let json = serde_json::to_string(self)?;
        Ok(json
            .replace('<', "\\u003c")
            .replace('>', "\\u003e")
            .replace('&', "\\u0026")
            .replace('\u{2028}', "\\u2028")
            .replace('\u{2029}', "\\u2029"))
    }
}

/// The swept key with most values is the axis; it needs two.
fn axis(trials: &[TrialSummary]) -> Option<&str> {
    let values = |key: &str| {
        let mut values: Vec<_> = trials
            .iter()
            .map(|trial| describe::point(trial, key))
            .collect();
        values.sort_unstable();
        values.dedup();
        values.len()
    };
    let keys = describe::swept(trials).into_iter().rev();
    keys.max_by_key(|key| values(key))
        .filter(|key| values(key) > 1)
}

fn sweep(trials: &[TrialSummary]) -> Option<Sweep> {
    let key = axis(trials)?;
    let mut lines: Vec<Line> = Vec::new();
    for trial in trials {
        let Some(x) = describe::point(trial, key) else {
            continue;
        };
        let others = trial.point.iter().filter(|(name, _)| name != key);
        let parts: Vec<String> = others
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        let name = parts.join(", ");
        let place = lines.iter().position(|line| line.name == name);
        let place = place.unwrap_or_else(|| {
            lines.push(Line {
                name,
                ..Line::default()
            });
            lines.len() - 1
        });
        if let Some(line) = lines.get_mut(place) {
            line.push(x, trial);
        }
    }
    let numeric = lines.iter().flat_map(|line| &line.x).all(|x| {
        let number = x.parse::<f64>();
        number.is_ok_and(f64::is_finite)
    });
    Some(Sweep {
        key: key.to_owned(),
        numeric,
        lines,
    })
}

impl Line {
    fn push(&mut self, x: &str, trial: &TrialSummary) {
        let per_s = trial.transactions.per_s;
        let response = trial.response_ms;
        self.x.push(x.to_owned());
        self.tps.push(per_s.map(|per_s| per_s.value));
        self.tps_half.push(per_s.and_then(|per_s| per_s.half_width));
        self.mean.push(response.map(|response| response.mean.value));
        self.mean_half
            .push(response.and_then(|response| response.mean.half_width));
        self.p95.push(response.map(|response| response.p95));
        self.p99.push(response.map(|response| response.p99));
    }
}

fn curve(trial: &TrialSummary) -> Curve {
    let points = &trial.response_curve;
    Curve {
        name: trial.label.clone(),
        count: trial.transactions.count,
        quantile: points.iter().map(|point| point.quantile).collect(),
        ms: points.iter().map(|point| point.ms).collect(),
    }
}

fn one_series(points: &[SeriesPoint]) -> Series {
    let time = |of: fn(&measure::series::SeriesLatency) -> f64| {
        let of = move |point: &SeriesPoint| point.response_ms.as_ref().map(of);
        points.iter().map(of).collect()
    };
    let backlog = points.iter().any(|point| point.backlog.is_some());
    Series {
        t: points.iter().map(|point| round(point.t_s)).collect(),
        tps: points.iter().map(|point| point.tps).collect(),
        mean: time(|times| times.mean),
        p95: time(|times| times.p95),
        p99: time(|times| times.p99),
        max: time(|times| times.max),
        backlog: backlog.then(|| points.iter().map(|point| point.backlog).collect()),
        aside: aside(points),
    }
}

/// The stretches that are not in the totals.
fn aside(points: &[SeriesPoint]) -> Vec<(f64, f64, Phase)> {
    points
        .chunk_by(|one, next| one.phase == next.phase)
        .filter_map(|stretch| {
            let (first, last) = (stretch.first()?, stretch.last()?);
            let end = round(last.t_s + last.seconds);
            (first.phase != Phase::Measure).then_some((round(first.t_s), end, first.phase))
        })
        .collect()
}

/// To a millisecond: what a figure can show.
fn round(seconds: f64) -> f64 {
    (seconds * 1000.0).round() / 1000.0
}
