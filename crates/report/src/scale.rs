//! How far a study's system scales: the laws of scaling over its users or its instances.
//!
//! ```text
//! result -> ladders (one for each value of the other keys), each with its law
//!        -> section, csv, figure
//! ```

mod show;

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::scale::{NoLaw, Observation, Scaling, scaling};
use measure::summary::{TrialSummary, counted};

use crate::cell::Cell;
use crate::columns::Columns;
use crate::keys;
use crate::sheet::Section;

pub(crate) use show::share;

/// Keys whose number is the size of what works side by side.
const SIZES: [&str; 2] = ["load.threads", "topology.instances"];

#[derive(Debug)]
pub(crate) struct Scale {
    /// What is counted, for example `threads`.
    pub(crate) key: String,
    pub(crate) ladders: Vec<Ladder>,
}

/// All sizes at one value of the other keys.
#[derive(Debug)]
pub(crate) struct Ladder {
    /// For display: `ext4`; empty where there is one.
    pub(crate) name: String,
    /// From the smallest on.
    pub(crate) rungs: Vec<Rung>,
    pub(crate) law: Result<Scaling, NoLaw>,
}

/// What was measured at one size.
#[derive(Debug)]
pub(crate) struct Rung {
    pub(crate) size: f64,
    pub(crate) tps: Cell,
}

impl Scale {
    /// Of a study whose results are shown against a size, driven by users that wait for
    /// each reply; `None` of any other: what arrives at a rate of its own says nothing of
    /// how far it would scale.
    pub(crate) fn of(result: &RunResult) -> Option<Self> {
        let trials: Vec<&TrialSummary> = result.trials.iter().collect();
        let axes = keys::axes(result);
        let key = keys::main(&result.design.tables, &trials, &axes)?;
        let closed = trials
            .iter()
            .all(|trial| trial.setup.planned.load.rate.is_none());
        if !SIZES.contains(&key) || !closed || !result.searches.is_empty() {
            return None;
        }
        let others: Vec<&str> = axes.iter().copied().filter(|other| *other != key).collect();
        let groups = keys::groups(&trials, &others).into_iter();
        let ladders = groups.map(|group| {
            let name = keys::name(&others, &group.values, &axes);
            Ladder::of(name, &group.trials, key)
        });
        Some(Self {
            key: keys::short(key, &axes).to_owned(),
            ladders: ladders.collect(),
        })
    }
}

impl Ladder {
    fn of(name: String, trials: &[&TrialSummary], key: &str) -> Self {
        let size = |trial: &TrialSummary| keys::value(trial, key)?.as_number();
        let counted = counted(trials);
        let points = counted
            .iter()
            .filter_map(|trial| Observation::of(trial, size(trial)?));
        let rungs = keys::groups(&counted, &[key]).into_iter();
        let rungs = rungs.filter_map(|group| {
            Some(Rung {
                size: size(group.trials.first()?)?,
                tps: Cell::of(&group.trials, "tps"),
            })
        });
        Self {
            name,
            rungs: rungs.collect(),
            law: scaling(&points.collect::<Vec<_>>()),
        }
    }

    /// The largest size that was measured; 0 without any.
    pub(crate) fn largest(&self) -> f64 {
        self.rungs.iter().map(|rung| rung.size).fold(0.0, f64::max)
    }
}

/// The law in words and tables, or why there is none; `None` of a study that varies no
/// size.
pub(crate) fn section(result: &RunResult) -> Option<Section> {
    Scale::of(result).map(|scale| show::section(&scale))
}

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
