//! Whether a law fits as well as the noise of its points allows.
//!
//! R² only says that the law bends the right way: a hard ceiling has 0.95 of it and misses single
//! sizes by a third. What repeats of one size differ by is pure error; what the mean of a size is
//! off the law beyond that is lack of fit, and the ratio of both has Fisher's distribution if the
//! law is true (Draper and Smith, *Applied Regression Analysis*, 1998, chapter 2). Without repeats
//! the interval of each point's own seconds takes the place of pure error, and the squares have the
//! χ² distribution.

use serde::{Deserialize, Serialize};
use statrs::distribution::{ChiSquared, ContinuousCDF, FisherSnedecor};

use super::blocks::Adjusted;
use super::{NoLaw, Observation};
use crate::interval::{mean, squares};

/// Probability of rejecting a true law.
pub(crate) const CHANCE: f64 = 0.01;
/// A law that misses every size by less than this share of the mean is good enough, however exactly
/// the mean is known.
pub(crate) const MATTERS: f64 = 0.05;
/// A half width of an interval is about two standard errors.
const HALF_WIDTH: f64 = 2.0;

/// What a law was tested against, and the probability (0 to 1) that a true law would miss by as
/// much.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "snake_case")]
pub enum GoodnessOfFit {
    /// Differences between repeats of one size.
    Repeats { p: f64 },
    /// The interval of each point, which excludes differences between runs.
    Intervals { p: f64 },
    /// No size was repeated, and some point has no interval.
    #[default]
    Untested,
}

struct Level {
    size: f64,
    mean: f64,
    count: f64,
    /// Sum of the squared deviations of the logarithms from their mean.
    squares: f64,
}

/// Tests a law with `parameters` parameters.
pub(super) fn test(
    points: &[Observation],
    data: &Adjusted,
    law: impl Fn(f64) -> f64,
    parameters: usize,
) -> Result<GoodnessOfFit, NoLaw> {
    let levels = levels(&data.points);
    let found = by_repeats(data, &levels, &law, parameters)
        .or_else(|| by_intervals(points, &law, parameters))
        .unwrap_or_default();
    let off = |level: &Level| law(level.size) / level.mean.exp() - 1.0;
    let worst = levels
        .iter()
        .max_by(|one, other| off(one).abs().total_cmp(&off(other).abs()));
    match (found, worst) {
        (GoodnessOfFit::Repeats { p } | GoodnessOfFit::Intervals { p }, Some(worst))
            if p < CHANCE && off(worst).abs() > MATTERS =>
        {
            Err(NoLaw::LackOfFit {
                size: worst.size,
                off: off(worst),
                p,
            })
        }
        _ => Ok(found),
    }
}

fn levels(points: &[(f64, f64)]) -> Vec<Level> {
    let mut points = points.to_vec();
    points.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    let levels = points.chunk_by(|(one, _), (other, _)| one.total_cmp(other).is_eq());
    let level = |here: &[(f64, f64)]| {
        let logs: Vec<f64> = here.iter().map(|(_, log)| *log).collect();
        Level {
            size: here[0].0,
            mean: mean(&logs),
            count: logs.len() as f64,
            squares: squares(&logs),
        }
    };
    levels.map(level).collect()
}

fn by_repeats(
    data: &Adjusted,
    levels: &[Level],
    law: &impl Fn(f64) -> f64,
    parameters: usize,
) -> Option<GoodnessOfFit> {
    let pure_degrees = data.points.len().checked_sub(levels.len() + data.fitted)? as f64;
    let lack_degrees = levels.len().checked_sub(parameters)? as f64;
    if pure_degrees < 1.0 || lack_degrees < 1.0 {
        return None;
    }
    let pure: f64 = levels.iter().map(|level| level.squares).sum();
    let off = |level: &Level| level.count * (level.mean - law(level.size).ln()).powi(2);
    let lack: f64 = levels.iter().map(off).sum();
    let ratio = (lack / lack_degrees) / (pure / pure_degrees);
    let fisher = FisherSnedecor::new(lack_degrees, pure_degrees).ok()?;
    let p = match ratio.is_finite() {
        true => fisher.sf(ratio),
        // Repeats that do not differ at all.
        false => 0.0,
    };
    Some(GoodnessOfFit::Repeats { p })
}

fn by_intervals(
    points: &[Observation],
    law: &impl Fn(f64) -> f64,
    parameters: usize,
) -> Option<GoodnessOfFit> {
    let square = |point: &Observation| {
        let error = point.half_width? / HALF_WIDTH;
        Some(((point.per_s - law(point.size)) / error).powi(2)).filter(|square| square.is_finite())
    };
    let squares: Option<f64> = points.iter().map(square).sum();
    let degrees = points.len().checked_sub(parameters)? as f64;
    let chi = ChiSquared::new(degrees).ok()?;
    Some(GoodnessOfFit::Intervals {
        p: chi.sf(squares?),
    })
}
