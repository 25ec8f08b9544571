//! Fewer points for a figure when there are more than a page can carry, and numbers as small as a
//! figure needs them.

use std::collections::BTreeSet;

use measure::metric::{Group, Metric, MonitorPoint, split};
use measure::series::SeriesPoint;
use measure::slice::Phase;
use serde::Serialize;

/// Most numbers of all series of a page together: at some five bytes each, the page
/// stays below ten megabytes.
const MOST_NUMBERS: usize = 1_200_000;

/// Numbers that a page holds of one second of a load.
const NUMBERS_OF_LOAD: usize = 7;

/// How many seconds each point covers, so that all series fit.
pub(crate) fn factor(series: &[Vec<SeriesPoint>], monitors: &[Vec<MonitorPoint>]) -> usize {
    let load = series.iter().map(|points| points.len() * NUMBERS_OF_LOAD);
    let metrics = monitors.iter();
    let metrics = metrics.map(|points| points.len() * (drawn(points).len() + 1));
    let numbers = load.chain(metrics).sum::<usize>();
    numbers.div_ceil(MOST_NUMBERS).max(1)
}

/// The metrics whose series the page has. Monitors may come and go with their servers.
pub(crate) fn drawn(points: &[MonitorPoint]) -> Vec<&str> {
    let names = points.iter().flat_map(|point| point.values.keys());
    let names = BTreeSet::from_iter(names.map(String::as_str)).into_iter();
    names.filter(|name| is_drawn(name)).collect()
}

/// Whether the page has a metric's series. The series of each core and of each server's own
/// counters would be too many: the page has those of all cores and servers together.
fn is_drawn(name: &str) -> bool {
    let group = Metric::find(name).map(|metric| metric.group);
    let has_many = group.is_some_and(|g| g == Group::Cpu || g.is_of_server_counters());
    !has_many || split(name).1.is_none()
}

/// What is drawn of a load: each `factor` seconds of one phase as one point, with the mean
/// of what is a rate and the largest of each time. The rest of a phase that is no second is
/// part of the point before it, unless there are gaps between the points, and what ended after the
/// last start is no throughput.
pub(crate) fn load(points: &[SeriesPoint], factor: usize, apart: bool) -> Vec<SeriesPoint> {
    let mut drawn: Vec<SeriesPoint> = Vec::new();
    let mut in_last = 0;
    for point in points.iter().filter(|point| point.phase != Phase::Drain) {
        let belongs = in_last < factor || (point.is_partial() && !apart);
        let is_part = belongs && drawn.last_mut().is_some_and(|last| last.absorb(point));
        if is_part {
            in_last += 1;
        } else {
            drawn.push(point.clone());
            in_last = 1;
        }
    }
    drawn
}

/// How many seconds a point of a series covers: more than one if the series was too long to be
/// read in full.
pub(crate) fn seconds_per_point(points: &[SeriesPoint]) -> usize {
    let length_s: f64 = points.iter().map(|point| point.seconds).sum();
    let mean = (length_s / points.len() as f64).round();
    // Of no points it is not a number.
    (mean as usize).max(1)
}

/// A metric's values, of each `factor` seconds their mean.
pub(crate) fn metric(points: &[MonitorPoint], name: &str, factor: usize) -> Vec<Option<f64>> {
    let chunks = points.chunks(factor);
    let value = |chunk: &[MonitorPoint]| match chunk {
        [one] => one.values.get(name).copied(),
        several => {
            let (mut sum, mut weight) = (0.0, 0.0);
            for point in several {
                if let Some(value) = point.values.get(name) {
                    sum += value * point.seconds;
                    weight += point.seconds;
                }
            }
            (weight > 0.0).then(|| sum / weight)
        }
    };
    chunks.map(value).collect()
}

/// A column of numbers as whole ones, each to be divided by ten to the power of the
/// first field; the largest has four digits, which is more than a figure can show.
#[derive(Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(crate) enum Packed {
    /// The same value so many times, as counters have it of what never happens.
    Same(i32, i64, usize),
    Each(i32, Vec<Option<i64>>),
}

impl Packed {
    pub(crate) fn of(values: &[Option<f64>]) -> Self {
        const MOST_DECIMALS: i32 = 9;
        let sizes = values.iter().flatten().map(|value| value.abs());
        let largest = sizes.filter(|size| size.is_finite()).fold(0.0, f64::max);
        let decimals = match largest > 0.0 {
            true => (3 - largest.log10().floor() as i32).min(MOST_DECIMALS),
            false => 0,
        };
        Self::with(decimals, values)
    }

    /// Times in seconds, to a millisecond if they need it.
    pub(crate) fn times(values: &[Option<f64>]) -> Self {
        let on_the_second = |value: &f64| (value - value.round()).abs() < 5e-4;
        let whole = values.iter().flatten().all(on_the_second);
        Self::with(if whole { 0 } else { 3 }, values)
    }

    fn with(decimals: i32, values: &[Option<f64>]) -> Self {
        let factor = 10_f64.powi(decimals);
        let whole = |value: &Option<f64>| {
            let value = value.filter(|value| value.is_finite())?;
            Some((value * factor).round() as i64)
        };
        let each: Vec<Option<i64>> = values.iter().map(whole).collect();
        match each.split_first() {
            Some((Some(first), rest)) if rest.iter().all(|value| *value == Some(*first)) => {
                Self::Same(decimals, *first, values.len())
            }
            _ => Self::Each(decimals, each),
        }
    }
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
    fn metrics_that_begin_later_count() {
        let mut points = vec![MonitorPoint::default(); 1000];
        let names = (0..2000).map(|server| format!("server[{server}].cpu"));
        points[999].values = names.map(|name| (name, 0.0)).collect();
        assert_eq!(factor(&[], &[points]), 2);
    }

    #[test]
    fn what_there_is_one_of_for_each_core_is_not_drawn() {
        for name in [
            "cpu.user",
            "server[2].cpu",
            "server.cache.hit_pct",
            "disk[a].util",
        ] {
            assert!(is_drawn(name), "{name}");
        }
        assert!(!is_drawn("cpu[0].user") && !is_drawn("server[1].cache.hit_pct"));
    }

    #[test]
    fn four_digits_are_kept_and_the_absent_stays_absent() {
        let json = |values: &[Option<f64>]| serde_json::to_string(&Packed::of(values)).unwrap();
        assert_eq!(
            json(&[Some(12.3456), None, Some(0.5)]),
            "[2,[1235,null,50]]"
        );
        assert_eq!(json(&[Some(5_702.4), Some(0.0)]), "[0,[5702,0]]");
        assert_eq!(json(&[Some(4.2e9), Some(1e6)]), "[-6,[4200,1]]");
        assert_eq!(json(&[Some(0.0), Some(0.0)]), "[0,0,2]");
        assert_eq!(
            json(&[Some(f64::NAN), Some(f64::INFINITY)]),
            "[0,[null,null]]"
        );
        assert_eq!(json(&[]), "[0,[]]");
    }
}
