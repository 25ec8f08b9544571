//! Throughput around the first fault of all trials, second by second from its effect.

use std::collections::BTreeMap;

use measure::recovery::{Distribution, FaultSeries, Observation};
use measure::result::RunResult;
use measure::summary::TrialSummary;
use serde::Serialize;

use super::thin::Packed;
use super::trial::record;
use crate::keys::Names;
use crate::point;

/// Most repeats that a page draws, of all points together. Medians are over all repeats.
const MOST_DRAWN: usize = 400;

/// The repeats of a point. Each list begins with the same second.
#[derive(Debug, Serialize)]
pub(crate) struct Aligned {
    name: String,
    /// The first second, counted from the effect.
    from: i32,
    median: Packed,
    /// How many repeats have the second.
    n: Vec<usize>,
    /// Those that are drawn; empty if there is only one, which is the median.
    repeats: Vec<Packed>,
}

type Seconds = BTreeMap<i32, f64>;

/// Every point whose trials have a series of the first fault.
pub(super) fn aligned(result: &RunResult, faults: &[Vec<FaultSeries>]) -> Vec<Aligned> {
    let Some(first) = faults.iter().flatten().map(FaultSeries::place).min() else {
        return Vec::new();
    };
    let of_trials = result.trials.iter().zip(faults);
    let seconds = |trial: &TrialSummary| {
        let (_, all) = of_trials.clone().find(|one| std::ptr::eq(one.0, trial))?;
        let series = all.iter().find(|series| series.place() == first)?;
        let seconds = series.by_second(record(trial, series)?.origin_s()?);
        (!seconds.is_empty()).then_some(seconds)
    };
    let (names, points) = (Names::of(result), point::of_result(result));
    let most = MOST_DRAWN / points.len().max(1);
    let points = points.iter().filter_map(|point| {
        let repeats = point.trials.iter();
        let repeats = repeats.filter_map(|trial| Some((*trial, seconds(trial)?)));
        let (trials, repeats): (Vec<_>, Vec<_>) = repeats.unzip();
        Aligned::of(names.repeats(&trials)?, &repeats, most)
    });
    points.collect()
}

impl Aligned {
    /// `None` without a second.
    fn of(name: String, repeats: &[Seconds], most_drawn: usize) -> Option<Self> {
        let known = repeats.iter().flat_map(BTreeMap::keys);
        let from = *known.clone().min()?;
        let all = from..=*known.max()?;
        let packed = |of: &dyn Fn(i32) -> Option<f64>| {
            let values: Vec<_> = all.clone().map(of).collect();
            Packed::of(&values)
        };
        let at = |second: i32| {
            let values = repeats.iter().filter_map(|one| one.get(&second));
            Distribution::of(values.copied().map(Observation::Exactly))
        };
        let n = |second| at(second).map_or(0, |all| all.values().len());
        let is_most = |second: i32| 2 * n(second) >= repeats.len();
        let drawn = if repeats.len() > 1 { most_drawn } else { 0 };
        let drawn = repeats.iter().take(drawn);
        let drawn = drawn.map(|one| packed(&|second| one.get(&second).copied()));
        Some(Self {
            name,
            from,
            median: packed(&|second| {
                Some(at(second).filter(|_| is_most(second))?.median().bound())
            }),
            n: all.clone().map(n).collect(),
            repeats: drawn.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(repeats: &[&[(i32, f64)]], most_drawn: usize) -> serde_json::Value {
        let repeats = repeats.iter().map(|one| one.iter().copied().collect());
        let all = Aligned::of("a".to_owned(), &repeats.collect::<Vec<_>>(), most_drawn);
        serde_json::to_value(all).unwrap()
    }

    #[test]
    fn the_median_is_of_at_least_half_of_the_repeats() {
        let repeats: [&[(i32, f64)]; 4] = [
            &[(-1, 8.0), (0, 0.0), (1, 0.0), (2, 6.0), (3, 7.0)],
            &[(-1, 9.0), (0, 0.0), (2, 8.0)],
            &[(0, 4.0)],
            &[(0, 9.0)],
        ];
        let found = json(&repeats, 2);
        assert_eq!(found["from"], -1);
        assert_eq!(found["n"], serde_json::json!([2, 4, 1, 2, 1]));
        let medians = serde_json::json!([3, [8500, 2000, null, 7000, null]]);
        assert_eq!(found["median"], medians);
        let drawn = serde_json::json!([
            [3, [8000, 0, 0, 6000, 7000]],
            [3, [9000, 0, null, 8000, null]],
        ]);
        assert_eq!(found["repeats"], drawn, "as many as a page draws");
    }

    #[test]
    fn a_single_repeat_is_its_own_median() {
        let found = json(&[&[(0, 5.0), (1, 0.0)]], 2);
        assert_eq!(found["median"], serde_json::json!([3, [5000, 0]]));
        assert_eq!(found["repeats"], serde_json::json!([]));
        assert!(json(&[], 2).is_null() && json(&[&[]], 2).is_null());
    }
}
