//! Response time by percentile, for one trial and for several combined.

use hdrhistogram::Counter;
use serde::{Deserialize, Serialize};

use crate::latency::{Latency, ms};

/// Number of bisections, after which the position of a percentile is known to far below a
/// nanosecond.
const HALVINGS: usize = 60;

/// A point of the curve of response time by percentile.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The percentile as a share (0 to 1).
    pub quantile: f64,
    /// Response time that this share of transactions did not exceed, in milliseconds.
    pub ms: f64,
}

/// The curve of a histogram: evenly spaced up to the 90th percentile, then closer and closer
/// towards the maximum, but never closer than the values allow.
pub fn curve<C: Counter>(latency: &Latency<C>) -> Vec<CurvePoint> {
    const TAIL: [f64; 14] = [
        0.92, 0.94, 0.95, 0.96, 0.97, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995, 0.9999, 0.999_99,
        0.999_999,
    ];
    let known = 1.0 - 1.0 / latency.count().max(1) as f64;
    let body = (0..=18).map(|step| f64::from(step) / 20.0);
    body.chain(TAIL.into_iter().filter(|share| *share <= known))
        .chain([1.0])
        .filter_map(|quantile| {
            let ms = ms(latency.quantile_ns(quantile)?);
            Some(CurvePoint { quantile, ms })
        })
        .collect()
}

/// The curve of all transactions of several trials, each given by its number of transactions and
/// its curve. It is the mixture of their distributions, as a merged histogram would show; the mean
/// of their percentiles would be another number. Between two points of a curve, times are assumed
/// to be evenly distributed.
pub fn together(trials: &[(u64, &[CurvePoint])]) -> Vec<CurvePoint> {
    let trials: Vec<(u64, &[CurvePoint])> = trials
        .iter()
        .copied()
        .filter(|(count, curve)| *count > 0 && !curve.is_empty())
        .collect();
    let Some((_, finest)) = trials.iter().max_by_key(|(_, curve)| curve.len()) else {
        return Vec::new();
    };
    let of_ends = |end: fn(&[CurvePoint]) -> Option<&CurvePoint>, choose: fn(f64, f64) -> f64| {
        let ends = trials.iter().filter_map(|(_, curve)| end(curve));
        ends.map(|point| point.ms).reduce(choose).unwrap_or(0.0)
    };
    let shortest = of_ends(|curve| curve.first(), f64::min);
    let longest = of_ends(|curve| curve.last(), f64::max);
    let points = finest.iter().map(|point| CurvePoint {
        quantile: point.quantile,
        ms: soonest(shortest, longest, |ms| {
            share_within(&trials, ms) >= point.quantile
        }),
    });
    points.collect()
}

/// The smallest value between `low` and `high` for which `holds` is true, given that it is true for
/// `high`.
fn soonest(low: f64, high: f64, holds: impl Fn(f64) -> bool) -> f64 {
    match holds(low) {
        true => low,
        false => bisect(low, high, HALVINGS, holds),
    }
}

/// Like [`soonest`], if `holds` is false for `low`; the interval is halved `halvings` times.
pub(crate) fn bisect(
    mut low: f64,
    mut high: f64,
    halvings: usize,
    holds: impl Fn(f64) -> bool,
) -> f64 {
    for _ in 0..halvings {
        let middle = f64::midpoint(low, high);
        match holds(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    high
}

/// The share of all transactions that took no longer than `ms`.
fn share_within(trials: &[(u64, &[CurvePoint])], ms: f64) -> f64 {
    let all: f64 = trials.iter().map(|(count, _)| *count as f64).sum();
    let within = trials
        .iter()
        .map(|(count, curve)| *count as f64 * share(curve, ms));
    within.sum::<f64>() / all
}

/// The share of one trial's transactions that took no longer than `ms`.
fn share(curve: &[CurvePoint], ms: f64) -> f64 {
    match around(curve, ms) {
        [None, _] => 0.0,
        [Some(_), None] => 1.0,
        [Some(before), Some(after)] => {
            before.quantile + way(before, after, ms) * (after.quantile - before.quantile)
        }
    }
}

/// The share of one trial's transactions that took longer than `ms`. A tail falls off about
/// exponentially, so its logarithm is interpolated: a straight line between the 99th and the 99.5th
/// percentile would be up to 6 % too high.
pub(crate) fn share_above(curve: &[CurvePoint], ms: f64) -> f64 {
    match around(curve, ms) {
        [Some(before), Some(after)] if after.quantile < 1.0 => {
            let way = way(before, after, ms);
            (1.0 - before.quantile).powf(1.0 - way) * (1.0 - after.quantile).powf(way)
        }
        _ => 1.0 - share(curve, ms),
    }
}

/// The last point up to `ms`, and the first one after it.
fn around(curve: &[CurvePoint], ms: f64) -> [Option<&CurvePoint>; 2] {
    let after = curve.partition_point(|point| point.ms <= ms);
    let before = after.checked_sub(1).and_then(|place| curve.get(place));
    [before, curve.get(after)]
}

/// The position of `ms` between two points, from 0 to 1.
fn way(before: &CurvePoint, after: &CurvePoint, ms: f64) -> f64 {
    (ms - before.ms) / (after.ms - before.ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn latency(times_ns: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        times_ns.into_iter().for_each(|ns| latency.record(ns));
        latency
    }

    #[test]
    fn the_share_above_a_time_is_that_of_an_exponential_tail() {
        let quantiles = (0..200_000).map(|n| (f64::from(n) + 0.5) / 200_000.0);
        let times = quantiles.map(|quantile| (-1e6 * (1.0 - quantile).ln()) as u64);
        let curve = curve(&latency(times));
        for share in [0.5, 0.03, 0.014, 0.01, 0.0071, 0.003] {
            let found = share_above(&curve, -f64::ln(share));
            assert!((found / share - 1.0).abs() < 0.02, "{share}: {found}");
        }
        assert_eq!([0.0, 99.0].map(|ms| share_above(&curve, ms)), [1.0, 0.0]);
        assert_eq!(share_above(&[], 1.0), 1.0);
    }

    fn at(curve: &[CurvePoint], quantile: f64) -> f64 {
        let found = curve.iter().find(|point| point.quantile == quantile);
        found.unwrap().ms
    }

    #[test]
    fn a_curve_claims_no_percentile_that_the_values_do_not_hold() {
        let points = curve(&latency((1..=200).map(|i| i * 1_000_000)));
        let known = |point: &CurvePoint| point.quantile <= 0.995 || point.quantile == 1.0;
        assert!(points.iter().all(known), "{points:?}");
        assert!(points.windows(2).all(|two| two[0].ms <= two[1].ms));
        assert_eq!(curve(&Latency::new()), []);
    }

    /// A fast trial with many transactions and a slow one with few: no transaction at all takes the
    /// mean of both medians (50.5 ms).
    #[test]
    fn a_mixture_is_no_mean_of_percentiles() {
        let fast = curve(&latency(std::iter::repeat_n(1_000_000, 9_000)));
        let slow = curve(&latency(std::iter::repeat_n(100_000_000, 1_000)));
        let both = together(&[(9_000, &fast), (1_000, &slow)]);
        let near = |quantile, ms: f64| (at(&both, quantile) / ms - 1.0).abs() < 0.01;
        assert!(near(0.5, 1.0) && near(0.9, 1.0), "{both:?}");
        assert!(near(0.92, 100.0) && near(1.0, 100.0), "{both:?}");
    }

    #[test]
    fn nothing_measured_has_no_curve() {
        assert_eq!(together(&[]), []);
        assert_eq!(together(&[(0, &[]), (5, &[])]), []);
    }

    proptest! {
        /// To within three significant digits and the gaps of the curves.
        #[test]
        fn it_is_the_curve_of_the_merged_histogram(
            one in prop::collection::vec(1_000_000_u64..50_000_000, 2_000..4_000),
            other in prop::collection::vec(5_000_000_u64..80_000_000, 2_000..4_000),
        ) {
            let (one, other) = (latency(one), latency(other));
            let (first, second) = (curve(&one), curve(&other));
            let both = together(&[(one.count(), &first), (other.count(), &second)]);
            let mut merged = one;
            merged.merge(&other);
            for quantile in [0.1, 0.5, 0.9, 0.95, 0.99, 1.0] {
                let exact = ms(merged.quantile_ns(quantile).unwrap());
                let found = at(&both, quantile);
                prop_assert!((found / exact - 1.0).abs() < 0.05, "{quantile}: {found} / {exact}");
            }
        }

        #[test]
        fn a_trial_with_itself_is_the_same(times in prop::collection::vec(1_u64..1_000_000_000, 1..500)) {
            let alone = curve(&latency(times));
            let twice = together(&[(7, &alone), (7, &alone)]);
            for (one, both) in alone.iter().zip(&twice) {
                prop_assert_eq!(one.quantile, both.quantile);
                prop_assert!(both.ms <= one.ms + 1e-9, "{:?} {:?}", one, both);
            }
            prop_assert!((twice.last().unwrap().ms - alone.last().unwrap().ms).abs() < 1e-6);
        }
    }
}
