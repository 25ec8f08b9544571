//! The highest rate under a limit, with its confidence interval, from all probes of a search.
//!
//! The limit applies to a mean over transactions: the share slower than the limit, or the response
//! time itself. Near the highest rate, it is modeled as exp(a + b r), like the tail of a queue near
//! saturation. Quasi-Poisson regression (McCullagh and Nelder 1989) assumes no distribution of the
//! amounts. The slope comes from all probes within [`WIDE`]; the level comes from those close to the
//! estimate, because a curve that bends would shift it. The interval is a jackknife over groups of
//! adjacent probes (Efron and Stein 1981), so that it includes stalls and slow drift.

use crate::interval::{squares, student_t};

/// Probes farther from the estimate than this share of it do not count.
const WIDE: f64 = 0.25;
/// Minimum slope: the limited amount grows about in proportion to the rate.
const FLATTEST: f64 = 1.0;
/// A probe counts as at most this multiple of the limit, so that one overload or stall does not
/// outweigh all others.
const MOST: f64 = 10.0;
/// Probes are placed where the logarithm of the limited amount differs by this from that of the
/// limit.
const CONTRAST: f64 = 0.2;
const SHORTEST_DISTANCE: f64 = 0.008;
/// A mean response time grows slowly with the rate, and not as modeled: farther probes would not fit.
const LONGEST_DISTANCE: f64 = 0.02;
/// Width of the weights for the level, as a multiple of the probes' distance.
const REACH: f64 = 3.0;
/// Probes within this share of the estimate are in the groups of the jackknife.
const GROUPED: f64 = 0.1;
/// Number of adjacent probes in a group: one on either side of the estimate.
const GROUP: usize = 2;
const FEWEST_GROUPS: usize = 4;
/// Widens the interval; found by simulation (`tests/integration/find_max.rs`).
const CALIBRATION: f64 = 2.0;
/// The estimate is at most this factor outside the rates that were probed.
const OUTSIDE: f64 = 1.1;
/// Up to this share of the limit, hardly anything is slow.
const NOTHING: f64 = 0.01;
const MOST_STEPS: usize = 60;

/// The outcome of driving a server at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Probe {
    /// Requested arrivals per second.
    pub rate_per_s: f64,
    pub transactions: f64,
    /// The limited amount of all transactions: how many were slower than the limit, or the sum of
    /// their response times.
    pub amount: f64,
}

/// The rate at which the limited amount per transaction reaches its limit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PooledRate {
    pub per_s: f64,
    /// Half of the 95 % confidence interval, as a share of the rate, below 1; `None` if the probes
    /// are too few, or do not exclude a rate of 0.
    pub half_width: Option<f64>,
    /// How far from the estimate the next probe should be, as a share of it.
    pub distance: f64,
}

/// The highest rate from probes in the order in which they ran; `None` if all amounts are 0.
pub fn highest_rate(probes: &[Probe], limit: f64) -> Option<PooledRate> {
    let probes: Vec<Probe> = probes.iter().map(|probe| probe.bounded(limit)).collect();
    let line = Line::fit(&probes, limit)?;
    Some(PooledRate {
        per_s: line.per_s,
        half_width: half_width(&probes, limit, line),
        distance: line.distance(),
    })
}

impl Probe {
    pub(super) fn exceeds(&self, limit: f64) -> bool {
        self.amount >= limit * self.transactions
    }

    fn bounded(self, limit: f64) -> Self {
        Self {
            amount: self.amount.min(MOST * limit * self.transactions),
            ..self
        }
    }

    /// Its distance from a rate, as a share of that rate.
    fn from(&self, per_s: f64) -> f64 {
        self.rate_per_s / per_s - 1.0
    }
}

/// The highest rate below the limit and the lowest above it, if the first is less than the second and hardly
/// anything was slow at the rates below.
pub(super) fn separated(probes: &[Probe], limit: f64) -> Option<(f64, f64)> {
    let (above, below): (Vec<&Probe>, Vec<&Probe>) =
        probes.iter().partition(|probe| probe.exceeds(limit));
    let seen: f64 = below.iter().map(|probe| probe.amount).sum();
    let allowed: f64 = below.iter().map(|probe| probe.transactions * limit).sum();
    let rate = |probe: &&Probe| probe.rate_per_s;
    let highest = below.iter().map(rate).reduce(f64::max)?;
    let lowest = above.iter().map(rate).reduce(f64::min)?;
    (highest < lowest && seen <= NOTHING * allowed).then_some((highest, lowest))
}

/// limit · exp(slope · (r / per_s − 1))
#[derive(Debug, Clone, Copy)]
struct Line {
    per_s: f64,
    slope: f64,
}

impl Line {
    fn fit(probes: &[Probe], limit: f64) -> Option<Self> {
        let rates = probes.iter().map(|probe| probe.rate_per_s);
        let lowest = rates.clone().reduce(f64::min)? / OUTSIDE;
        let highest = rates.reduce(f64::max)? * OUTSIDE;
        let mut line = sloped(probes, limit)?;
        for _ in 0..MOST_STEPS {
            line.per_s = line.per_s.clamp(lowest, highest);
            let near = probes.iter().copied();
            let near: Vec<Probe> = near.filter(|p| p.from(line.per_s).abs() <= WIDE).collect();
            let Some(next) = sloped(&near, limit).filter(|_| near.len() > 1) else {
                break;
            };
            let moved = (next.per_s / line.per_s - 1.0).abs();
            line = next;
            if moved < 1e-6 {
                break;
            }
        }
        line.per_s = line.per_s.clamp(lowest, highest);
        for _ in 0..MOST_STEPS {
            let step = line.correction(probes, limit);
            line.per_s = (line.per_s * (1.0 - step)).clamp(lowest, highest);
            if step.abs() < 1e-7 {
                break;
            }
        }
        // Without noise, nothing is slow below the rate, and the model has no slope.
        if let Some((below, above)) = separated(probes, limit) {
            line.per_s = line.per_s.clamp(below, above);
        }
        Some(line)
    }

    fn distance(self) -> f64 {
        (CONTRAST / self.slope).clamp(SHORTEST_DISTANCE, LONGEST_DISTANCE)
    }

    /// The share by which the rate is too high, judged by the probes close to it.
    fn correction(self, probes: &[Probe], limit: f64) -> f64 {
        let reach = REACH * self.distance();
        let (mut seen, mut expected) = (0.0, 0.0);
        for probe in probes {
            let x = probe.from(self.per_s);
            if x.abs() > WIDE {
                continue;
            }
            let weight = (-(x / reach).powi(2) / 2.0).exp();
            seen += weight * probe.amount;
            expected += weight * probe.transactions * limit * (self.slope * x).exp();
        }
        match seen > 0.0 && expected > 0.0 {
            true => ((seen / expected).ln() / self.slope).clamp(-0.05, 0.05),
            false => 0.0,
        }
    }
}

/// Quasi-Poisson regression of the amounts on the rates by Newton's method.
fn sloped(probes: &[Probe], limit: f64) -> Option<Line> {
    let transactions: f64 = probes.iter().map(|probe| probe.transactions).sum();
    let amount: f64 = probes.iter().map(|probe| probe.amount).sum();
    let rates = probes
        .iter()
        .map(|probe| probe.transactions * probe.rate_per_s);
    let center = rates.sum::<f64>() / transactions;
    if !(amount > 0.0 && center > 0.0) {
        return None;
    }
    let fitted = newton(probes, center, (amount / transactions).ln());
    let (level, slope) = fitted
        .filter(|(_, slope)| *slope >= FLATTEST)
        .unwrap_or_else(|| {
            let expected = probes.iter();
            let expected = expected.map(|p| p.transactions * (FLATTEST * p.from(center)).exp());
            ((amount / expected.sum::<f64>()).ln(), FLATTEST)
        });
    let moved = (1.0 + (limit.ln() - level) / slope).max(1.0 / MOST);
    Some(Line {
        per_s: center * moved,
        slope: slope * moved,
    })
}

/// The level at `center` and the slope; `None` without convergence, for example at a single rate.
fn newton(probes: &[Probe], center: f64, level: f64) -> Option<(f64, f64)> {
    let (mut level, mut slope) = (level, 10.0);
    for _ in 0..MOST_STEPS {
        let (mut g0, mut g1, mut h00, mut h01, mut h11) = (0.0, 0.0, 0.0, 0.0, 0.0);
        for probe in probes {
            let x = probe.from(center);
            let expected = probe.transactions * (level + slope * x).exp();
            g0 += probe.amount - expected;
            g1 += (probe.amount - expected) * x;
            h00 += expected;
            h01 += expected * x;
            h11 += expected * x * x;
        }
        let determinant = h00 * h11 - h01 * h01;
        if determinant.is_nan() || determinant <= 1e-12 * h00 * h11 {
            return None;
        }
        let (d0, d1) = (
            (h11 * g0 - h01 * g1) / determinant,
            (h00 * g1 - h01 * g0) / determinant,
        );
        let damping = f64::min(1.0, f64::min(1.0 / d0.abs(), 10.0 / d1.abs()));
        level += damping * d0;
        slope += damping * d1;
        if d0.abs() < 1e-9 && d1.abs() < 1e-7 {
            return Some((level, slope));
        }
    }
    None
}

/// The jackknife of the logarithm of the rate over groups of adjacent probes.
fn half_width(probes: &[Probe], limit: f64, line: Line) -> Option<f64> {
    let reach = (4.0 * line.distance()).clamp(GROUPED, WIDE);
    let near = (0..probes.len()).filter(|i| probes[*i].from(line.per_s).abs() <= reach);
    let near: Vec<usize> = near.collect();
    let groups = near.len() / GROUP;
    if groups < FEWEST_GROUPS {
        return None;
    }
    let without = |group: usize| {
        let left_out = &near[group * near.len() / groups..(group + 1) * near.len() / groups];
        let rest = (0..probes.len()).filter(|i| !left_out.contains(i));
        let rest: Vec<Probe> = rest.map(|i| probes[i]).collect();
        Some(Line::fit(&rest, limit)?.per_s.ln())
    };
    let rates = (0..groups).map(without).collect::<Option<Vec<f64>>>()?;
    let count = groups as f64;
    let error = (squares(&rates) * (count - 1.0) / count).sqrt();
    Some(CALIBRATION * student_t(count - 2.0) * error).filter(|half_width| *half_width < 1.0)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_xoshiro::Xoshiro256PlusPlus;

    use super::*;

    fn exact(rates: &[f64]) -> Vec<Probe> {
        let probe = |&rate_per_s: &f64| Probe {
            rate_per_s,
            transactions: 20_000.0,
            amount: 200.0 * (12.0 * (rate_per_s / 1000.0 - 1.0)).exp(),
        };
        rates.iter().map(probe).collect()
    }

    #[test]
    fn a_curve_of_the_model_is_found_exactly() {
        let rates = [
            850.0, 1040.0, 980.0, 1015.0, 985.0, 1016.0, 984.0, 1015.0, 985.0,
        ];
        let found = highest_rate(&exact(&rates), 0.01).unwrap();
        assert!((found.per_s - 1000.0).abs() < 0.01, "{found:?}");
        assert!(found.half_width.unwrap() < 1e-5, "{found:?}");
        assert!((found.distance - CONTRAST / 12.0).abs() < 1e-4, "{found:?}");
    }

    #[test]
    fn few_probes_have_no_interval_and_none_slow_no_rate() {
        let found = highest_rate(&exact(&[850.0, 1040.0]), 0.01).unwrap();
        assert_eq!(found.half_width, None);
        let mut none = exact(&[850.0, 1040.0]);
        none.iter_mut().for_each(|probe| probe.amount = 0.0);
        assert_eq!(highest_rate(&none, 0.01), None);
        assert_eq!(highest_rate(&[], 0.01), None);
    }

    #[test]
    fn probes_that_determine_nothing_have_no_interval() {
        // A server that stalls so often that its rate decides little.
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let mut probes = exact(&[400.0, 900.0, 500.0, 700.0, 450.0, 550.0, 480.0, 520.0]).repeat(3);
        for _ in 0..1000 {
            for probe in &mut probes {
                probe.amount = [0.0, 20.0, 300.0, 20_000.0][rng.random_range(0..4)];
            }
            let found = highest_rate(&probes, 0.01).unwrap();
            assert!(
                found.half_width.is_none_or(|share| share < 1.0),
                "{found:?}"
            );
        }
    }

    #[test]
    fn an_overload_has_a_bounded_influence() {
        let mut probes = exact(&[850.0, 1040.0, 985.0, 1015.0, 985.0, 1015.0, 985.0, 1015.0]);
        probes[7].amount = 20_000.0;
        let one = highest_rate(&probes, 0.01).unwrap();
        probes[7].amount = 2000.0;
        assert_eq!(highest_rate(&probes, 0.01), Some(one));
    }
}
