//! Fewer points for a figure, when there are more than a page can carry.

use measure::series::SeriesPoint;

/// Most points of all series of a page together; above that a browser is slow.
pub(crate) const MOST_POINTS: usize = 200_000;

/// How many seconds one point stands for, so that all series fit.
pub(crate) fn factor(total: usize) -> usize {
    total.div_ceil(MOST_POINTS).max(1)
}

/// Each `factor` seconds of one phase as one point: the mean of what is a rate,
/// the largest of each time, so that no peak is lost.
pub(crate) fn thin(points: &[SeriesPoint], factor: usize) -> Vec<SeriesPoint> {
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
    let seconds: f64 = points.iter().map(|point| point.seconds).sum();
    let mean = |of: fn(&SeriesPoint) -> Option<f64>| {
        let sum: f64 = points
            .iter()
            .filter_map(|point| Some(of(point)? * point.seconds))
            .sum();
        (seconds > 0.0).then(|| sum / seconds)
    };
    merged.tps = mean(|point| point.tps);
    merged.statements_per_s = mean(|point| point.statements_per_s);
    merged.seconds = seconds;
    merged.errors = points.iter().map(|point| point.errors).sum();
    merged.reconnects = points.iter().map(|point| point.reconnects).sum();
    merged.backlog = points.iter().filter_map(|point| point.backlog).max();
    let times = points.iter().filter_map(|point| point.response_ms);
    merged.response_ms = times.reduce(|mut most, times| {
        most.mean = most.mean.max(times.mean);
        most.p50 = most.p50.max(times.p50);
        most.p95 = most.p95.max(times.p95);
        most.p99 = most.p99.max(times.p99);
        most.max = most.max.max(times.max);
        most
    });
    Some(merged)
}
