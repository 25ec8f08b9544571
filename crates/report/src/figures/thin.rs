//! Fewer points for a figure, when there are more than a page can carry.

use measure::metric::MonitorPoint;
use measure::series::{SeriesLatency, SeriesPoint};

/// Most numbers of all series of a page together: at some five bytes each, the page
/// stays below ten megabytes.
const MOST_NUMBERS: usize = 1_200_000;

/// Numbers that a page holds of one second of a load.
const NUMBERS_OF_LOAD: usize = 7;

/// How many seconds one point stands for, so that all series fit.
pub(crate) fn factor(series: &[Vec<SeriesPoint>], monitors: &[Vec<MonitorPoint>]) -> usize {
    let load: usize = series
        .iter()
        .map(|points| points.len() * NUMBERS_OF_LOAD)
        .sum();
    let metrics = monitors.iter().map(|points| {
        let each = points.first().map_or(0, |point| {
            point.values.keys().filter(|name| is_drawn(name)).count()
        });
        points.len() * (each + 1)
    });
    (load + metrics.sum::<usize>())
        .div_ceil(MOST_NUMBERS)
        .max(1)
}

/// Whether the page has a metric's series. Those of each core and of each server's
/// inside are too many; their means are there, and all seconds in the result.
pub(crate) fn is_drawn(name: &str) -> bool {
    let of_one_server = name.starts_with("server[") && name.contains("].innodb.");
    !name.starts_with("cpu[") && !of_one_server
}

/// Each `factor` seconds of one phase as one point: the mean of what is a rate,
/// the largest of each time, so that no peak is lost.
pub(crate) fn load(points: &[SeriesPoint], factor: usize) -> Vec<SeriesPoint> {
    if factor <= 1 {
        return points.to_vec();
    }
    points
        .chunk_by(|one, next| one.phase == next.phase)
        .flat_map(|phase| phase.chunks(factor))
        .filter_map(merge)
        .collect()
}

fn merge(points: &[SeriesPoint]) -> Option<SeriesPoint> {
    let mut merged = points.first()?.clone();
    let weights: Vec<f64> = points.iter().map(|point| point.seconds).collect();
    let of = |of: fn(&SeriesPoint) -> Option<f64>| mean(points.iter().map(of), &weights);
    merged.tps = of(|point| point.tps);
    merged.statements_per_s = of(|point| point.statements_per_s);
    merged.seconds = weights.iter().sum();
    merged.errors = points.iter().map(|point| point.errors).sum();
    merged.reconnects = points.iter().map(|point| point.reconnects).sum();
    merged.backlog = points.iter().filter_map(|point| point.backlog).max();
    merged.response_ms = longest(points.iter().filter_map(|point| point.response_ms));
    merged.delay_ms = longest(points.iter().filter_map(|point| point.delay_ms));
    Some(merged)
}

fn longest(times: impl Iterator<Item = SeriesLatency>) -> Option<SeriesLatency> {
    times.reduce(|most, times| SeriesLatency {
        mean: most.mean.max(times.mean),
        p50: most.p50.max(times.p50),
        p95: most.p95.max(times.p95),
        p99: most.p99.max(times.p99),
        max: most.max.max(times.max),
    })
}

/// A metric's values, of each `factor` seconds their mean.
pub(crate) fn metric(points: &[MonitorPoint], name: &str, factor: usize) -> Vec<Option<f64>> {
    let chunks = points.chunks(factor);
    let value = |chunk: &[MonitorPoint]| match chunk {
        [one] => one.values.get(name).copied(),
        several => {
            let weights: Vec<f64> = several.iter().map(|point| point.seconds).collect();
            mean(
                several.iter().map(|point| point.values.get(name).copied()),
                &weights,
            )
        }
    };
    chunks.map(value).collect()
}

/// The mean of what is there; `None` when nothing is.
fn mean(values: impl Iterator<Item = Option<f64>>, weights: &[f64]) -> Option<f64> {
    let (mut sum, mut weight) = (0.0, 0.0);
    for (value, seconds) in values.zip(weights) {
        if let Some(value) = value {
            sum += value * seconds;
            weight += seconds;
        }
    }
    (weight > 0.0).then(|| sum / weight)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metric_that_is_away_for_a_second_is_the_mean_of_the_others() {
        let point = |t_s: f64, value: Option<f64>| MonitorPoint {
            t_s,
            seconds: 1.0,
            values: value
                .map(|value| ("cpu.user".to_owned(), value))
                .into_iter()
                .collect(),
        };
        let points = [
            point(0.0, Some(10.0)),
            point(1.0, None),
            point(2.0, None),
            point(3.0, None),
            point(4.0, Some(7.0)),
        ];
        assert_eq!(
            metric(&points, "cpu.user", 2),
            [Some(10.0), None, Some(7.0)]
        );
    }

    #[test]
    fn what_there_is_one_of_for_each_core_is_not_drawn() {
        for name in [
            "cpu.user",
            "server[2].cpu",
            "server.innodb.pool_hit_rate",
            "disk[a].util",
        ] {
            assert!(is_drawn(name), "{name}");
        }
        assert!(!is_drawn("cpu[0].user") && !is_drawn("server[1].innodb.pool_hit_rate"));
    }
}
