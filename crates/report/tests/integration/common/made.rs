//! Results with numbers of one's choice, such as a paper's.

use measure::interval::Estimate;
use measure::result::{Design, RunResult};
use measure::summary::TrialSummary;

use super::{study, typed};

/// One trial to be.
pub(crate) struct Made<'a> {
    /// Its values of the keys.
    pub(crate) point: &'a [(&'a str, &'a str)],
    pub(crate) repeat: u32,
    pub(crate) tps: f64,
    /// The mean response time, in milliseconds.
    pub(crate) mean_ms: f64,
}

impl<'a> Made<'a> {
    pub(crate) fn new(
        point: &'a [(&'a str, &'a str)],
        repeat: u32,
        tps: f64,
        mean_ms: f64,
    ) -> Self {
        Self {
            point,
            repeat,
            tps,
            mean_ms,
        }
    }
}

/// Half width of every interval within a trial, as a share.
pub(crate) const SURE: f64 = 0.004;

/// A result of these trials; the number of servers and of users are those of their points.
pub(crate) fn made(title: &str, trials: &[Made<'_>]) -> RunResult {
    let (mut result, _) = study(&[8]);
    let base = result.trials.remove(0);
    result.title = title.into();
    let all = trials.iter().zip(1..);
    result.trials = all
        .map(|(made, number)| trial(&base, made, number))
        .collect();
    let axes = trials.first().map_or(&[][..], |made| made.point);
    result.design = Design {
        trials: trials.len() as u32,
        repeats: trials.iter().map(|made| made.repeat).max().unwrap_or(1),
        axes: axes.iter().map(|(key, _)| (*key).to_owned()).collect(),
        ..Design::default()
    };
    result
}

/// A result of points with a value of `key`, a throughput and a mean response time, each so many
/// times; a repeat is faster by its luck.
pub(crate) fn swept<V: ToString>(
    title: &str,
    key: &str,
    points: &[(V, f64, f64)],
    repeats: u32,
    luck: impl Fn(u32) -> f64,
) -> RunResult {
    let values: Vec<String> = points.iter().map(|(value, ..)| value.to_string()).collect();
    let places: Vec<[(&str, &str); 1]> = values.iter().map(|value| [(key, &**value)]).collect();
    let trials = (1..=repeats).flat_map(|repeat| {
        let luck = luck(repeat);
        let points = points.iter().zip(&places);
        points.map(move |((_, tps, ms), place)| Made::new(place, repeat, tps * luck, ms / luck))
    });
    made(title, &trials.collect::<Vec<_>>())
}

fn trial(base: &TrialSummary, made: &Made<'_>, number: u32) -> TrialSummary {
    let mut trial = base.clone();
    let pairs = made.point.iter();
    trial.setup.planned.point = pairs
        .clone()
        .map(|(key, value)| (*key, typed(value)))
        .collect();
    let labels = pairs.map(|(key, value)| format!("{key}={value}"));
    trial.setup.planned.label = labels.collect::<Vec<_>>().join(", ");
    (trial.setup.planned.number, trial.setup.planned.repeat) = (number, made.repeat);
    for (key, value) in made.point {
        match *key {
            "topology.instances" => trial.setup.planned.topology.instances = value.parse().unwrap(),
            "load.threads" => trial.setup.planned.load.threads = value.parse().unwrap(),
            _ => {}
        }
    }
    let sure = |value: f64| Estimate {
        value,
        half_width: Some(value * SURE),
    };
    trial.transactions.per_s = Some(sure(made.tps));
    trial.transactions.count = (made.tps * trial.measured_s) as u64;
    let mut times = trial.response_ms.unwrap();
    let factor = made.mean_ms / times.mean.value;
    times.mean = sure(made.mean_ms);
    for value in [
        &mut times.p50,
        &mut times.p75,
        &mut times.p90,
        &mut times.p95,
        &mut times.p99,
        &mut times.p999,
        &mut times.max,
    ] {
        *value *= factor;
    }
    let ranges = [&mut times.p95_range, &mut times.p99_range];
    for range in ranges.into_iter().flatten() {
        range.low *= factor;
        range.high *= factor;
    }
    trial.response_ms = Some(times);
    trial
}
