//! Results with numbers of one's choice, such as a paper's.

use measure::interval::Estimate;
use measure::result::{Design, RunResult};
use measure::summary::TrialSummary;

use super::scale_up::scaled;
use super::{study, typed};

/// One trial to be: its values of the keys, its repeat, its throughput, and its mean response time in
/// milliseconds.
pub(crate) type Made<'a> = (&'a [(&'a str, &'a str)], u32, f64, f64);

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
    let axes = trials.first().map_or(&[][..], |(point, ..)| point);
    result.design = Design {
        trials: trials.len() as u32,
        repeats: trials
            .iter()
            .map(|(_, repeat, ..)| *repeat)
            .max()
            .unwrap_or(1),
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
        points.map(move |((_, tps, ms), place)| (&place[..], repeat, tps * luck, ms / luck))
    });
    made(title, &trials.collect::<Vec<_>>())
}

fn trial(base: &TrialSummary, made: &Made<'_>, number: u32) -> TrialSummary {
    let mut trial = base.clone();
    let (point, repeat, tps, mean_ms) = *made;
    let pairs = point.iter();
    trial.setup.planned.point = pairs
        .clone()
        .map(|(key, value)| (*key, typed(value)))
        .collect();
    let labels = pairs.map(|(key, value)| format!("{key}={value}"));
    trial.setup.planned.label = labels.collect::<Vec<_>>().join(", ");
    (trial.setup.planned.number, trial.setup.planned.repeat) = (number, repeat);
    for (key, value) in point {
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
    trial.transactions.per_s = Some(sure(tps));
    trial.transactions.count = (tps * trial.measured_s) as u64;
    let mut times = trial.response_ms.unwrap();
    let factor = mean_ms / times.mean.value;
    (times, times.mean) = (scaled(times, factor), sure(mean_ms));
    let ranges = [&mut times.p95_range, &mut times.p99_range];
    for range in ranges.into_iter().flatten() {
        range.low *= factor;
        range.high *= factor;
    }
    trial.response_ms = Some(times);
    trial
}
