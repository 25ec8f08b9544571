//! Throughput against size, as measured and by the laws of scaling.

use measure::result::RunResult;
use measure::scale::Scaling;
use serde::Serialize;

use crate::scale::{self, Ladder};

/// Places at which a curve is drawn.
const STEPS: u32 = 80;
/// A peak is drawn when it is at most so many times beyond the largest size.
const BEYOND: f64 = 1.5;

#[derive(Debug, Serialize)]
pub(crate) struct Scale {
    key: String,
    lines: Vec<Line>,
}

/// One ladder; the first three lists are as long as each other, and so are the others.
#[derive(Debug, Serialize)]
struct Line {
    name: String,
    x: Vec<f64>,
    tps: Vec<Option<f64>>,
    tps_half: Vec<Option<f64>>,
    /// Sizes at which the laws are drawn; none without a law.
    at: Vec<f64>,
    usl: Vec<f64>,
    amdahl: Vec<Option<f64>>,
}

/// `None` without a law.
pub(super) fn scale(result: &RunResult) -> Option<Scale> {
    let found = scale::Scale::of(result)?;
    let fitted = found.ladders.iter().any(|ladder| ladder.law.is_ok());
    fitted.then(|| Scale {
        lines: found.ladders.iter().map(line).collect(),
        key: found.key,
    })
}

fn line(ladder: &Ladder) -> Line {
    let rungs = ladder.rungs.as_slice();
    let law = ladder.law.as_ref().ok();
    let at = law.map_or_else(Vec::new, |law| places(law, ladder));
    let of = |per_s: &dyn Fn(&Scaling, f64) -> Option<f64>| {
        let curve = at.iter().map(|size| law.and_then(|law| per_s(law, *size)));
        curve.map(|per_s| per_s.map(rounded)).collect()
    };
    Line {
        name: ladder.name.clone(),
        x: rungs.iter().map(|rung| rung.size).collect(),
        tps: rungs.iter().map(|rung| rung.tps.value()).collect(),
        tps_half: rungs.iter().map(|rung| rung.tps.half_width()).collect(),
        usl: law.map_or_else(Vec::new, |law| {
            at.iter().map(|size| rounded(law.per_s(*size))).collect()
        }),
        amdahl: of(&Scaling::amdahl_per_s),
        at,
    }
}

/// Evenly from the smallest size to the largest, or to the peak when that is near.
fn places(law: &Scaling, ladder: &Ladder) -> Vec<f64> {
    let smallest = ladder.rungs.first().map_or(1.0, |rung| rung.size);
    let largest = ladder.largest();
    let peak = law.peak.map_or(0.0, |peak| peak.size.value);
    let end = match peak <= BEYOND * largest {
        true => largest.max(peak),
        false => largest,
    };
    let step = (end - smallest) / f64::from(STEPS);
    let places = (0..=STEPS).map(|place| rounded(smallest + step * f64::from(place)));
    places.collect()
}

fn rounded(value: f64) -> f64 {
    (value * 100.0).round() / 100.0
}
