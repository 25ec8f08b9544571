//! The average change over several points.

use std::collections::BTreeMap;

use super::{Comparison, Measured, NoComparison, Question, compare};
use crate::interval::{Estimate, mean};

/// Compares two sides by their geometric means over several points. Trials of one repeat ran in the
/// same block and share its noise, so points are averaged within each repeat, and the interval is
/// over the repeats. Repeats that lack a point are left out.
pub fn average(
    points: &[[&[Measured]; 2]],
    question: &Question,
) -> Result<Comparison, NoComparison> {
    let side = |side: usize| over_points(points.iter().map(|point| point[side]));
    compare(&side(0), &side(1), question)
}

/// One value for each repeat that all points have.
fn over_points<'a>(points: impl Iterator<Item = &'a [Measured]>) -> Vec<Measured> {
    let mut logs: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    let mut count = 0;
    for trials in points {
        count += 1;
        for trial in trials {
            let of_repeat = logs.entry(trial.repeat).or_default();
            of_repeat.push(trial.value.value.ln());
        }
    }
    let whole = logs.into_iter().filter(|(_, logs)| logs.len() == count);
    let measured = whole.map(|(repeat, logs)| Measured {
        repeat,
        value: Estimate::exact(mean(&logs).exp()),
    });
    measured.collect()
}
