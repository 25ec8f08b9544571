//! The laws of scaling for spreadsheets and programs.

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::scale::Scaling;

use super::{Ladder, Scale};
use crate::columns::Columns;

/// What was measured, a law's parameters, and what it makes of each size.
struct Line<'a> {
    of: &'a str,
    law: &'static str,
    number: &'static str,
    size: Option<f64>,
    value: Option<Estimate>,
    reason: String,
}

/// A line for each number. `None` of a study that varies no size.
pub fn csv(result: &RunResult) -> Option<String> {
    let scale = Scale::of(result)?;
    let lines: Vec<Line<'_>> = scale.ladders.iter().flat_map(lines).collect();
    let columns = Columns::<&Line<'_>>::new()
        .with("of", |line| line.of)
        .with("law", |line| line.law)
        .with("number", |line| line.number)
        .with(scale.key.as_str(), |line| line.size)
        .estimate("value", |line| line.value)
        .with("reason", |line| &line.reason);
    Some(columns.csv(&lines))
}

fn lines(ladder: &Ladder) -> Vec<Line<'_>> {
    let line = |law, number, size, value| Line {
        of: &ladder.name,
        law,
        number,
        size,
        value,
        reason: String::new(),
    };
    let rungs = ladder.rungs.iter();
    let measured = rungs.map(|rung| line("measured", "tps", Some(rung.size), rung.tps.estimate));
    let mut lines: Vec<Line<'_>> = measured.collect();
    match &ladder.law {
        Ok(law) => {
            let parameters = parameters(law).into_iter();
            lines.extend(parameters.map(|(of, number, value)| line(of, number, None, Some(value))));
            lines.extend(ladder.rungs.iter().flat_map(|rung| {
                let fitted = [
                    ("usl", Some(law.per_s(rung.size))),
                    ("amdahl", law.amdahl_per_s(rung.size)),
                ];
                fitted
                    .map(|(of, per_s)| line(of, "tps", Some(rung.size), per_s.map(Estimate::exact)))
            }));
        }
        Err(reason) => lines.push(Line {
            reason: reason.to_string(),
            ..line("usl", "none", None, None)
        }),
    }
    lines
}

fn parameters(law: &Scaling) -> Vec<(&'static str, &'static str, Estimate)> {
    let mut all = vec![
        ("usl", "alone_per_s", law.alone_per_s),
        ("usl", "contention", law.contention),
        ("usl", "coherency", law.coherency),
        ("usl", "r_squared", Estimate::exact(law.r_squared)),
    ];
    if let Some(peak) = law.peak {
        all.extend([
            ("usl", "peak_at", peak.size),
            ("usl", "peak_per_s", peak.per_s),
        ]);
    }
    if let Some(amdahl) = law.amdahl {
        all.extend([
            ("amdahl", "alone_per_s", amdahl.alone_per_s),
            ("amdahl", "serial", amdahl.share),
            ("amdahl", "r_squared", Estimate::exact(amdahl.r_squared)),
        ]);
    }
    all
}
