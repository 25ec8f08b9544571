//! How far an interval has to reach if a comparison is looked at several times and may end each time.
//!
//! Five evenly spaced looks, each at 5 %, call what is equal different in 14 % of cases. Repeated confidence
//! intervals (Jennison and Turnbull, *Group Sequential Methods with Applications to Clinical Trials*,
//! chapters 9 and 11) are wider, so that those of all looks hold the true change at once in 95 %: they are
//! valid whatever rule ended the comparison.
//!
//! The boundary is of the family of Wang and Tsiatis ("Approximately optimal one-parameter
//! boundaries for group sequential trials", Biometrics 43, 1987): after n of at most N starts, a
//! normal statistic has to exceed C (n / N)^(shape - 1/2). As the noise is estimated from the starts, too, Student's
//! t of the same nominal level takes its place (Pocock, "Group sequential methods in the design and
//! analysis of clinical trials", Biometrika 64, 1977). With few starts this alone is not exact, so
//! the overall error rate of a C is computed from the joint distribution of the looks' statistics
//! instead of the normal one. It needs no simulation: of n normal values, direction and length are
//! independent, so that the cosine u between the values and (1, ..., 1), of which t is a function,
//! is, from the last start to the first, a Markov chain in one dimension.

use std::collections::BTreeMap;
use std::f64::consts::FRAC_PI_2;
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use statrs::distribution::{ContinuousCDF, Normal};

use crate::student;
use crate::summary::TrialSummary;

/// Starts at the first look. Fewer hardly show how much starts differ.
pub const FIRST_LOOK: u32 = 6;
/// Further looks save little.
pub const MOST_LOOKS: u32 = 5;
/// Of the family: 0 (O'Brien and Fleming) keeps almost the whole error rate for the last look, 1/2 (Pocock) has
/// the same level at each.
const SHAPE: f64 = 0.25;
/// Error rates are computed for this many C, so far apart; between them, z of one is almost a straight line.
const CONSTANTS: usize = 8;
const STEP: f64 = 0.5;
/// Values of u from 0 to 1 at which a probability is known.
const CELLS: usize = 200;
/// Values of one more start over which it is averaged.
const NODES: u32 = 64;

/// When a comparison is looked at by default: up to five times, evenly spaced, and at least two starts
/// apart, from the sixth start to `most`; between these after an even number of starts, of which every second
/// reverses the order of the one before it.
pub fn looks(most: u32) -> Vec<u32> {
    let more = (most.saturating_sub(FIRST_LOOK) / 2).min(MOST_LOOKS - 1);
    let look = |i: u32| (FIRST_LOOK + i * (most - FIRST_LOOK) / more) & !1;
    match more {
        0 => vec![most],
        _ => (0..more).map(look).chain([most]).collect(),
    }
}

/// The boundary of a comparison that is looked at after certain numbers of starts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Boundary {
    /// Starts at the last look.
    pub most: u32,
    /// For C = STEP, 2 STEP, ...: the z whose two-sided level is the overall error rate.
    #[serde(skip)]
    overall: [f64; CONSTANTS],
}

impl Boundary {
    /// Of trials whose comparison ends once it is decided; `None` for others.
    pub fn of_trials<'a>(trials: impl Iterator<Item = &'a &'a TrialSummary>) -> Option<Self> {
        // It takes milliseconds to compute, and each number of each point needs it.
        static KNOWN: Mutex<BTreeMap<u32, Boundary>> = Mutex::new(BTreeMap::new());
        let compare = trials.filter_map(|trial| trial.setup.planned.compare);
        let starts = compare.map(|compare| compare.starts).max()?;
        let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
        let boundary = known.entry(starts);
        Some(*boundary.or_insert_with(|| Self::new(&looks(starts))))
    }

    /// Of looks after these numbers of starts, in ascending order.
    pub fn new(looks: &[u32]) -> Self {
        let mut boundary = Self {
            most: looks.last().copied().unwrap_or_default(),
            overall: std::array::from_fn(|i| STEP * (i as f64 + 1.0)),
        };
        if looks.len() > 1 {
            let overall = boundary.overall.map(|c| z(boundary.crossing(looks, c)));
            boundary.overall = overall;
        }
        boundary
    }

    /// The two-sided level (0 to 1) of Student's interval after so many starts, if all looks together
    /// have an error rate (0 to 1). Valid between looks, too, as when a start failed.
    pub fn nominal(&self, error_rate: f64, starts: u32) -> f64 {
        let z = z(error_rate);
        let place = self.overall.iter().position(|overall| *overall > z);
        let i = place.unwrap_or(CONSTANTS - 1);
        let [low, high] = self.around(i);
        let constant = STEP * (i as f64 + (z - low) / (high - low));
        level(constant * self.factor(starts))
    }

    /// The inverse of [`Boundary::nominal`]: the probability (0 to 1) that any look has as small a `p` for
    /// its number of starts as this one (the repeated p-value).
    pub fn overall(&self, p: f64, starts: u32) -> f64 {
        let place = z(p) / self.factor(starts) / STEP;
        let i = (place as usize).min(CONSTANTS - 1);
        let [low, high] = self.around(i);
        level(low + (place - i as f64) * (high - low))
    }

    /// The constant c of the interval mean ± c s / √n after n starts.
    pub fn critical(&self, error_rate: f64, starts: u32) -> f64 {
        let share = 1.0 - self.nominal(error_rate, starts) / 2.0;
        student::quantile(share, f64::from(starts) - 1.0)
    }

    /// The overall z of C = i STEP and of the next.
    fn around(&self, i: usize) -> [f64; 2] {
        let before = i.checked_sub(1).map_or(0.0, |before| self.overall[before]);
        [before, self.overall[i]]
    }

    /// The factor of C after this many starts.
    fn factor(&self, starts: u32) -> f64 {
        let share = f64::from(starts) / f64::from(self.most);
        share.min(1.0).powf(SHAPE - 0.5)
    }

    /// The probability (0 to 1) that any look exceeds the boundary of C by chance.
    fn crossing(&self, looks: &[u32], constant: f64) -> f64 {
        let mut crossed = vec![0.0; CELLS + 1];
        for starts in looks[0]..=self.most {
            if starts > looks[0] {
                crossed = after_one_more(&crossed, starts);
            }
            if looks.contains(&starts) {
                let degrees = f64::from(starts) - 1.0;
                let t =
                    student::quantile(1.0 - level(constant * self.factor(starts)) / 2.0, degrees);
                stop_beyond(&mut crossed, (1.0 + degrees / (t * t)).sqrt().recip());
            }
        }
        let density = |i: usize| {
            let end = if i == 0 || i == CELLS { 0.5 } else { 1.0 };
            end * (1.0 - cosine(i).powi(2)).powf((f64::from(self.most) - 3.0) / 2.0)
        };
        let all: f64 = (0..=CELLS).map(density).sum();
        let sum: f64 = crossed
            .iter()
            .enumerate()
            .map(|(i, crossed)| density(i) * crossed)
            .sum();
        sum / all
    }
}

fn cosine(cell: usize) -> f64 {
    cell as f64 / CELLS as f64
}

/// Every value beyond the edge has crossed it. The cell that contains the edge does in part.
fn stop_beyond(crossed: &mut [f64], edge: f64) {
    for (i, crossed) in crossed.iter_mut().enumerate() {
        let beyond = (i as f64 + 0.5 - edge * CELLS as f64).clamp(0.0, 1.0);
        *crossed += beyond * (1.0 - *crossed);
    }
}

/// The probability of having crossed before, given u after `starts` starts: the mean over the value of the
/// last start. In units of the length of all values, they are uniform on the sphere of length 1 in
/// the plane of their sum.
fn after_one_more(crossed: &[f64], starts: u32) -> Vec<f64> {
    let n = f64::from(starts);
    // The density of the angle is cos^(n - 3), with a standard deviation below 1 / √(n - 2).
    let reach = (6.0 / (n - 2.0).sqrt()).min(FRAC_PI_2);
    let nodes = (0..NODES).map(|node| {
        let angle = reach * ((2.0 * f64::from(node) + 1.0) / f64::from(NODES) - 1.0);
        (angle.sin(), angle.cos().powf(n - 3.0))
    });
    let nodes: Vec<(f64, f64)> = nodes.collect();
    let weights: f64 = nodes.iter().map(|(_, weight)| weight).sum();
    let before = |u: f64| {
        let radius = ((1.0 - u * u) * (n - 1.0) / n).sqrt();
        let of = |(sine, weight): &(f64, f64)| {
            let last = u / n.sqrt() + radius * sine;
            let others = (n.sqrt() * u - last) / ((n - 1.0) * (1.0 - last * last)).sqrt();
            weight * between(crossed, others.abs())
        };
        nodes.iter().map(of).sum::<f64>() / weights
    };
    (0..=CELLS).map(|cell| before(cosine(cell))).collect()
}

/// Interpolated at u, by cubics (Catmull and Rom): straight lines would add up to a diffusion over many starts.
fn between(values: &[f64], u: f64) -> f64 {
    let place = u * CELLS as f64;
    let cell = (place as usize).min(CELLS - 1);
    let x = (place - cell as f64).min(1.0);
    let before = values[if cell == 0 { 1 } else { cell - 1 }];
    let [low, high, after] = [cell, cell + 1, (cell + 2).min(CELLS)].map(|i| values[i]);
    let square = 2.0 * before - 5.0 * low + 4.0 * high - after;
    let cube = 3.0 * (low - high) + after - before;
    let value = low + 0.5 * x * (high - before + x * (square + x * cube));
    value.clamp(low.min(high), low.max(high))
}

/// The z that a normal value exceeds on either side with this probability.
fn z(level: f64) -> f64 {
    -Normal::standard().inverse_cdf(level / 2.0)
}

/// The inverse of [`z`]; not 0, of which Student's t would be infinite.
fn level(z: f64) -> f64 {
    (2.0 * Normal::standard().sf(z)).max(f64::EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Found elsewhere by simulation of 300,000 series.
    #[test]
    fn constants_are_those_of_a_simulation() {
        let looks = [6, 9, 12, 16, 20];
        let boundary = Boundary::new(&looks);
        for (starts, known) in looks.into_iter().zip([5.24, 3.50, 2.93, 2.56, 2.35]) {
            let found = boundary.critical(0.05, starts);
            assert!((found / known - 1.0).abs() < 0.005, "{starts}: {found}");
        }
    }

    /// For many starts at each look, constants are those of the normal distribution: Jennison and
    /// Turnbull, table 2.9 (Wang and Tsiatis, 1/4, three looks: 2.083).
    #[test]
    fn constants_of_many_starts_are_those_of_the_table() {
        let found = z(Boundary::new(&[100, 200, 300]).nominal(0.05, 300));
        assert!((found - 2.083).abs() < 0.01, "{found}");
    }

    #[test]
    fn a_single_look_has_students_interval() {
        let boundary = Boundary::new(&[5]);
        assert!((boundary.critical(0.05, 5) - 2.776_445).abs() < 1e-5);
        assert!((boundary.overall(0.03, 5) - 0.03).abs() < 1e-9);
    }

    #[test]
    fn a_repeated_p_is_the_error_rate_whose_interval_just_excludes_0() {
        for most in [7, 10, 20, 40] {
            let boundary = Boundary::new(&looks(most));
            for starts in [3, 6, 8, 10, most, most + 5] {
                for error_rate in [0.5, 0.05, 0.0125, 0.001, 1e-4] {
                    let nominal = boundary.nominal(error_rate, starts);
                    assert!(
                        nominal <= error_rate * (1.0 + 1e-9),
                        "{most} {starts} {nominal}"
                    );
                    let back = boundary.overall(nominal, starts);
                    assert!(
                        (back / error_rate - 1.0).abs() < 1e-6,
                        "{error_rate} {back}"
                    );
                }
            }
            assert!(boundary.overall(1.0, 6) > 0.999);
            assert!(boundary.overall(0.0, 6) < 1e-15);
        }
    }

    #[test]
    fn looks_are_spread_over_the_starts() {
        assert_eq!(looks(10), [6, 8, 10]);
        assert_eq!(looks(20), [6, 8, 12, 16, 20]);
        assert_eq!(looks(9), [6, 9]);
        for few in [2, 6, 7] {
            assert_eq!(looks(few), [few]);
        }
    }
}
