//! Where the level of a series changes.
//!
//! Candidates come from the segmentation with the least squared error at a price for each change
//! (optimal partitioning: Jackson et al., "An algorithm for optimal partitioning of data on an
//! interval", IEEE Signal Processing Letters 12, 2005; PELT, Killick, Fearnhead and Eckley, 2012,
//! is the same with less work). Its price assumes independent values, so on autocorrelated seconds
//! it proposes a change for every fluctuation. Therefore each candidate is tested: the difference
//! between the levels on both sides against what a series with this long-run variance, that of a
//! first-order autoregression, shows by chance, at a level shared by all places where a change might
//! be. The weakest candidate that fails is removed, and the others are tested again, since its step
//! is now part of the noise (backward elimination; Bai and Perron, "Estimating and testing linear
//! models with multiple structural changes", Econometrica 66, 1998, go the other way round).
//!
//! E-divisive (Matteson and James 2014; Hunter, Fleming et al. 2023) assumes independent values,
//! which neither seconds nor results of different days are. Outliers, such as a stall of one second,
//! are no new level: they are first pulled towards their neighbors (Hampel's filter).

mod segments;

use serde::{Deserialize, Serialize};

use crate::interval::{Part, mean, ratio, squares};
use segments::{candidates, filtered, levels, spread, weakest};

/// Minimum number of seconds of a level.
pub(crate) const SECONDS: usize = 10;
/// Minimum number of results of a level.
pub(crate) const RESULTS: usize = 3;
/// Probability (0 to 1) that a series without a change shows one anywhere, if its noise were known.
///
/// The autocorrelation of seconds is estimated from few of them, so the test is five times as
/// strict as the error rate that dyno promises: of simulated series without a change, 1 % show one
/// (2 % if the seconds of a minute correlate by 0.9). Results of successive days correlate, because
/// the host changes slowly; the correlation is estimated from even fewer values. Of simulated
/// histories without a change, at most 2 % show one if their results correlate by up to 0.6.
const CHANCE: f64 = 0.002;
/// A change by a smaller share of the level is not reported.
pub(crate) const MATTERS: f64 = 0.05;
/// Shorter intervals are not used.
const LEAST_S: f64 = 0.5;
/// Longer series are aggregated to intervals of 2, 4, … seconds.
const LONGEST: usize = 4000;

#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ChangePoint {
    /// Index of the first value at the new level.
    pub at: usize,
    /// Mean from the previous change (or the start) to this one, in the unit of the values.
    pub before: f64,
    /// Mean from this one to the next (or the end).
    pub after: f64,
}

impl ChangePoint {
    /// Relative change of the level; negative if it fell.
    pub fn share(&self) -> f64 {
        self.after / self.before - 1.0
    }
}

/// Change points in the seconds of one run, each level at least 10 s long; `per_s` has one value
/// per second. More than 4,000 are aggregated to intervals of 2, 4, … seconds, which date the
/// changes.
pub fn in_seconds(per_s: &[f64]) -> Vec<ChangePoint> {
    let mut step = 1;
    while per_s.len() / step > LONGEST {
        step *= 2;
    }
    let values: Vec<f64> = per_s.chunks(step).map(mean).collect();
    let mut found = find(&values, SECONDS, CHANCE);
    for change in &mut found {
        change.at *= step;
    }
    found
}

/// Change points in results of different times, oldest first, with at least 3 results at each
/// level. The error rate is shared by all `histories` that are tested together (Bonferroni).
pub fn in_history(results: &[f64], histories: usize) -> Vec<ChangePoint> {
    find(results, RESULTS, CHANCE / histories.max(1) as f64)
}

/// A change of the throughput of a trial, as reported.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelChange {
    /// Seconds from the load's start.
    pub at_s: f64,
    /// Mean from the previous change to this one, in transactions per second.
    pub before_per_s: f64,
    /// Mean from this one to the next.
    pub after_per_s: f64,
}

/// Changes by at least 5 % in the seconds of a measurement that began `begin_s` after the load;
/// each part has the transactions and the length of a second. None if a straight line explains the
/// series as well.
pub fn in_measurement(begin_s: f64, measured: &[Part]) -> Vec<LevelChange> {
    let whole: Vec<&Part> = measured
        .iter()
        .filter(|part| part.weight >= LEAST_S)
        .collect();
    let rates: Option<Vec<f64>> = whole.iter().map(|part| ratio(&[**part])).collect();
    let rates = rates.unwrap_or_default();
    let found = in_seconds(&rates);
    if is_rather_a_line(&rates, &found) {
        return Vec::new();
    }
    let at_s = |at: usize| begin_s + whole[..at].iter().map(|part| part.weight).sum::<f64>();
    let dated = |change: &ChangePoint| LevelChange {
        at_s: at_s(change.at),
        before_per_s: change.before,
        after_per_s: change.after,
    };
    let matter = found
        .iter()
        .filter(|change| change.share().abs() >= MATTERS);
    matter.map(dated).collect()
}

/// Whether a straight line explains the values at least as well as the levels do.
fn is_rather_a_line(values: &[f64], changes: &[ChangePoint]) -> bool {
    let cuts: Vec<usize> = changes.iter().map(|change| change.at).collect();
    let of_levels: f64 = levels(values, &cuts).map(squares).sum();
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut products, mut places) = (0.0, 0.0);
    for (place, value) in values.iter().enumerate() {
        let off = place as f64 - middle;
        products += off * value;
        places += off * off;
    }
    let of_line = squares(values) - products * products / places;
    !changes.is_empty() && of_line <= of_levels
}

fn find(values: &[f64], shortest: usize, chance: f64) -> Vec<ChangePoint> {
    if values.len() < 2 * shortest || values.iter().any(|value| !value.is_finite()) {
        return Vec::new();
    }
    let spread = spread(values);
    let kept = filtered(values, spread);
    let mut cuts = candidates(&kept, spread, shortest);
    let limit = chance * shortest as f64 / values.len() as f64;
    while let Some((place, p)) = weakest(&kept, &cuts) {
        if p < limit {
            break;
        }
        cuts.remove(place);
    }
    let means: Vec<f64> = levels(values, &cuts).map(mean).collect();
    let steps = cuts.iter().zip(means.windows(2));
    steps
        .map(|(at, means)| ChangePoint {
            at: *at,
            before: means[0],
            after: means[1],
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ripple(i: usize) -> f64 {
        ((31 * i * i + 7 * i) % 11) as f64 / 5.0 - 1.0
    }

    #[test]
    fn a_step_is_found_where_it_is() {
        let series: Vec<f64> = (0..120)
            .map(|i| if i < 50 { 100.0 } else { 80.0 } + ripple(i))
            .collect();
        let found = in_seconds(&series);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].at, 50);
        assert!((found[0].share() + 0.2).abs() < 0.01, "{found:?}");
        // The same series over a day.
        let day: Vec<f64> = (0..80_000)
            .map(|i| if i < 32_000 { 100.0 } else { 80.0 } + ripple(i))
            .collect();
        let found = in_seconds(&day);
        assert_eq!(
            found.iter().map(|change| change.at).collect::<Vec<_>>(),
            [32_000]
        );
    }

    #[test]
    fn a_dip_is_two_changes_and_a_stalled_second_is_none() {
        let dip = |i: usize| if (60..80).contains(&i) { 70.0 } else { 100.0 };
        let series: Vec<f64> = (0..150).map(|i| dip(i) + ripple(i)).collect();
        let places: Vec<usize> = in_seconds(&series).iter().map(|change| change.at).collect();
        assert_eq!(places, [60, 80]);
        let mut stalled: Vec<f64> = (0..150).map(|i| 100.0 + ripple(i)).collect();
        (stalled[40], stalled[41], stalled[90]) = (0.0, 3.0, 0.0);
        assert_eq!(in_seconds(&stalled), []);
    }

    /// Flow of the Nile at Aswan in 1871 to 1970 (Cobb, "The problem of the Nile",
    /// Biometrika 65, 1978): the level fell in 1899, from 1,098 to 850.
    #[test]
    fn the_nile_fell_in_1899() {
        let found = in_history(&NILE, 1);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(1871 + found[0].at, 1899);
        assert_eq!(
            (found[0].before.round(), found[0].after.round()),
            (1098.0, 850.0)
        );
        // Successive years correlate a little, which does not change the result.
        assert_eq!(in_seconds(&NILE), found);
    }

    #[test]
    fn a_change_is_told_by_the_clock_and_only_when_it_matters() {
        let part = |i: usize, weight: f64| Part {
            total: weight * (if i < 50 { 100.0 } else { 80.0 } + ripple(i)),
            weight,
        };
        let mut parts: Vec<Part> = (0..120).map(|i| part(i, 1.0)).collect();
        parts.push(part(120, 0.01));
        let found = in_measurement(10.0, &parts);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0].at_s, 60.0);
        let share = found[0].after_per_s / found[0].before_per_s - 1.0;
        assert!((share + 0.2).abs() < 0.01, "{found:?}");
        let by_three = |i: usize| Part {
            total: if i < 50 { 100.0 } else { 97.0 } + 0.1 * ripple(i),
            weight: 1.0,
        };
        let parts: Vec<Part> = (0..120).map(by_three).collect();
        let rates: Vec<f64> = parts.iter().map(|part| part.total).collect();
        assert_eq!(in_seconds(&rates).len(), 1);
        assert_eq!(in_measurement(0.0, &parts), []);
    }

    #[test]
    fn what_cannot_change_does_not() {
        assert_eq!(in_seconds(&[5.0; 100]), []);
        assert_eq!(in_history(&[1.0, 2.0, 3.0], 1), []);
        assert_eq!(in_history(&[], 1), []);
        assert_eq!(in_history(&[1.0, f64::NAN, 3.0, 4.0, 5.0, 6.0, 7.0], 1), []);
        // A single outlier is not a level.
        assert_eq!(
            in_history(&[100.0, 101.0, 99.0, 60.0, 100.0, 101.0, 99.0, 100.0], 1),
            []
        );
    }

    #[rustfmt::skip]
    const NILE: [f64; 100] = [
        1120., 1160., 963., 1210., 1160., 1160., 813., 1230., 1370., 1140., 995., 935., 1110.,
        994., 1020., 960., 1180., 799., 958., 1140., 1100., 1210., 1150., 1250., 1260., 1220.,
        1030., 1100., 774., 840., 874., 694., 940., 833., 701., 916., 692., 1020., 1050., 969.,
        831., 726., 456., 824., 702., 1120., 1100., 832., 764., 821., 768., 845., 864., 862.,
        698., 845., 744., 796., 1040., 759., 781., 865., 845., 944., 984., 897., 822., 1010.,
        771., 676., 649., 846., 812., 742., 801., 1040., 860., 874., 848., 890., 744., 749.,
        838., 1050., 918., 986., 797., 923., 975., 815., 1020., 906., 901., 1170., 912., 746.,
        919., 718., 714., 740.,
    ];
}
