//! How far a study's system scales: the laws of scaling over its users or its instances.
//!
//! ```text
//! result -> ladders (one for each value of the other keys), each with its law
//!        -> section, csv, figure
//! ```

use measure::interval::Estimate;
use measure::result::RunResult;
use measure::scale::{GoodnessOfFit, NoLaw, Observation, Peak, Scaling, scaling};
use measure::summary::{TrialSummary, counted};

use crate::cell::Cell;
use crate::grid::{Columns, Content, Grid};
use crate::keys::{self, others, trials_of};
use crate::list::{around, clause, grouped};
use crate::metric_comparison::is_open_loop;
use crate::number;
use crate::sheet::{Block, Section};

/// Keys whose number is the size of what works side by side.
const SIZES: [&str; 2] = ["load.threads", "topology.instances"];

#[derive(Debug)]
pub(crate) struct Scale {
    /// What is counted, for example `threads`.
    pub(crate) key: String,
    pub(crate) ladders: Vec<Ladder>,
}

#[derive(Debug)]
pub(crate) struct Ladder {
    /// For display: `ext4`; empty where there is one.
    pub(crate) name: String,
    /// From the smallest on.
    pub(crate) rungs: Vec<Rung>,
    pub(crate) law: Result<Scaling, NoLaw>,
}

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
        let (trials, axes) = (trials_of(result), keys::axes(result));
        let key = keys::main(&result.design.tables, &trials, &axes)?;
        if !SIZES.contains(&key) || is_open_loop(&result.trials) || !result.searches.is_empty() {
            return None;
        }
        let groups = keys::groups(&trials, &others(&axes, key), &axes).into_iter();
        let ladders = groups.map(|group| Ladder::of(group.name, &group.trials, key));
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
        let points = counted.iter();
        let points = points.filter_map(|trial| Observation::of(trial, size(trial)?));
        let rungs = keys::groups(&counted, &[key], &[]).into_iter();
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

/// A measured number, a parameter of a law, or the law's prediction for a size: the law, the
/// number, the size, and the value.
type Line = (&'static str, &'static str, Option<f64>, Option<Estimate>);

/// A line for each number. `None` of a study that varies no size.
pub fn csv(result: &RunResult) -> Option<String> {
    let scale = Scale::of(result)?;
    let lines = scale.ladders.iter().flat_map(|ladder| {
        let lines = lines(ladder).into_iter();
        lines.map(move |line| (ladder, line))
    });
    let columns = Columns::<(&Ladder, Line)>::new()
        .with("of", |(ladder, _)| &ladder.name)
        .with("law", |(_, (law, ..))| law)
        .with("number", |(_, (_, number, ..))| number)
        .with(scale.key.as_str(), |(_, (.., size, _))| size)
        .estimate("value", |(_, (.., value))| value)
        .with("reason", |(ladder, (_, number, ..))| {
            let reason = ladder.law.as_ref().err();
            Some(reason.filter(|_| number == NONE)?.to_string())
        });
    Some(columns.csv(lines))
}

/// Stands for the number if no law could be fitted.
const NONE: &str = "none";

fn lines(ladder: &Ladder) -> Vec<Line> {
    let rungs = ladder.rungs.iter();
    let measured = rungs.map(|rung| ("measured", "tps", Some(rung.size), rung.tps.estimate));
    let mut lines: Vec<Line> = measured.collect();
    match &ladder.law {
        Ok(law) => {
            let parameters = parameters(law).into_iter();
            lines.extend(parameters.map(|(of, number, value)| (of, number, None, Some(value))));
            lines.extend(ladder.rungs.iter().flat_map(|rung| {
                let fitted = [
                    (USL, Some(law.per_s(rung.size))),
                    ("amdahl", law.amdahl_per_s(rung.size)),
                ];
                fitted.map(|(of, per_s)| (of, "tps", Some(rung.size), per_s.map(Estimate::exact)))
            }));
        }
        Err(_) => lines.push((USL, NONE, None, None)),
    }
    lines
}

fn parameters(law: &Scaling) -> Vec<(&'static str, &'static str, Estimate)> {
    let mut all = vec![
        (USL, "alone_per_s", law.alone_per_s),
        (USL, "contention", law.contention),
        (USL, "coherency", law.coherency),
        (USL, "r_squared", Estimate::exact(law.r_squared)),
    ];
    if let Some(peak) = law.peak {
        all.extend([(USL, "peak_at", peak.size), (USL, "peak_per_s", peak.per_s)]);
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

/// The law in words and tables, or why there is none; `None` of a study that varies no
/// size.
pub(crate) fn section(result: &RunResult) -> Option<Section> {
    let scale = Scale::of(result)?;
    let mut blocks: Vec<Block> = answers(&scale).into_iter().map(Block::Words).collect();
    if scale.ladders.iter().any(|ladder| ladder.law.is_ok()) {
        blocks.push(figure(&scale));
        blocks.push(Block::Table(laws(&scale)));
    }
    let ladders = scale.ladders.iter();
    let steps = ladders.filter_map(|ladder| steps(ladder, &scale));
    blocks.extend(steps.map(Block::Table));
    Some(Section::new("Scalability", blocks))
}

fn figure(scale: &Scale) -> Block {
    Block::Figure {
        id: "scale",
        label: format!(
            "Line chart of throughput by {}, as measured and by the scalability laws; the tables \
             have its values.",
            scale.key
        ),
        caption: format!(
            "Throughput by {} as measured (marks, with 95 % confidence intervals) and by the \
             Universal Scalability Law (lines). The legend offers Amdahl's law.",
            scale.key
        ),
    }
}

/// A paragraph for each ladder; ladders with the same text share one.
fn answers(scale: &Scale) -> Vec<String> {
    let ladders = scale.ladders.iter();
    let said = grouped(ladders.map(|ladder| (words(ladder, scale), &*ladder.name)));
    let all = scale.ladders.len();
    let named = said
        .into_iter()
        .map(|(words, names)| match names.as_slice() {
            [""] => words,
            several if several.len() == all && all > 1 => words,
            several => format!("{}: {words}", several.join("; ")),
        });
    named.collect()
}

fn words(ladder: &Ladder, scale: &Scale) -> String {
    match &ladder.law {
        Err(reason) => format!("No scalability law was fitted: {reason}."),
        Ok(law) => {
            let ends = law.peak.as_ref().map_or_else(
                || no_peak(law, ladder, scale),
                |peak| highest(peak, ladder, scale),
            );
            format!("{ends} {}", costs(law))
        }
    }
}

fn highest(peak: &Peak, ladder: &Ladder, scale: &Scale) -> String {
    let size = number::estimate_to(Some(peak.size), 1);
    let at = format!("{size} {}, with", scale.key);
    let tps = number::estimate(Some(peak.per_s));
    let largest = number::value_to(ladder.largest(), 0);
    let is_unsure = peak.size.half_width.is_none();
    let unsure = clause(
        is_unsure,
        ", although the data do not exclude that it never falls",
    );
    match peak.is_measured {
        true => {
            format!("Throughput peaks at {at} {tps} transactions/s, and falls beyond that{unsure}.")
        }
        false => format!(
            "By extrapolation, throughput would peak at {at} {tps} transactions/s; no more \
             than {largest} were measured{unsure}."
        ),
    }
}

fn no_peak(law: &Scaling, ladder: &Ladder, scale: &Scale) -> String {
    let contention = law.contention.value;
    let limit = match law.coherency.value <= 0.0 && contention > 0.001 {
        true => format!(
            ", approaching {} transactions/s",
            number::value(law.alone_per_s.value / contention)
        ),
        false => String::new(),
    };
    format!(
        "Throughput grows up to the {} {} measured, with no peak nearby{limit}.",
        number::value_to(ladder.largest(), 0),
        scale.key
    )
}

fn costs(law: &Scaling) -> String {
    let explained = format!(
        "the law explains {} of the variance.",
        number::percent(law.r_squared)
    );
    let is_untested = matches!(law.goodness_of_fit, GoodnessOfFit::Untested);
    let untested = " The goodness of fit cannot be tested: no size was repeated.";
    let untested = clause(is_untested, untested);
    if law.contention.value <= 0.0 && law.coherency.value <= 0.0 {
        return format!(
            "It scales linearly, with no measurable contention (σ {}) or coherency cost (κ {}); \
             {explained}{untested}",
            number::share_percent(law.contention),
            number::share_percent(law.coherency)
        );
    }
    let open = |share: Estimate| {
        let may_be_0 = share.half_width.is_some_and(|half| half >= share.value);
        clause(
            share.value > 0.0 && may_be_0,
            ", not distinguishable from 0",
        )
    };
    format!(
        "{} of the work is serialized (contention σ{}), and keeping each pair coherent costs {} \
         (coherency κ{}); {explained}{untested}",
        number::share_percent(law.contention),
        open(law.contention),
        number::share_percent(law.coherency),
        open(law.coherency)
    )
}

/// A law: its name, and what the CSV file calls it and its serialized share.
type Law = (&'static str, &'static str, &'static str);

const USL: &str = "usl";
const LAWS: [Law; 2] = [
    ("Universal Scalability Law", USL, "contention"),
    ("Amdahl", "amdahl", "serial"),
];

fn laws(scale: &Scale) -> Grid {
    type Row<'a> = (&'a Ladder, &'a Scaling, Law);
    let rows = scale.ladders.iter().flat_map(|ladder| {
        let laws = ladder.law.iter();
        laws.flat_map(move |found| LAWS.map(|law| (ladder, found, law)))
    });
    let parameter = |(_, found, (_, law, _)): Row<'_>, wanted: &str| {
        let mut all = parameters(found).into_iter();
        let (.., value) = all.find(|(of, number, _)| (*of, *number) == (law, wanted))?;
        Some(value)
    };
    let columns = Columns::<Row<'_>>::new()
        .when(scale.ladders.len() > 1, |columns| {
            columns.key("", |(ladder, ..)| &ladder.name)
        })
        .key("law", |(.., (name, ..))| name)
        .with("λ, tps", move |row| match parameter(row, "alone_per_s") {
            Some(alone_per_s) => alone_per_s.into(),
            None => Content::from("does not fit"),
        })
        .with("σ", move |row| {
            let (.., (.., serial)) = row;
            parameter(row, serial).map(number::share)
        })
        .with("κ", move |row| {
            parameter(row, "coherency").map(number::share)
        })
        .with("R²", move |row| {
            Some(format!("{:.3}", parameter(row, "r_squared")?.value))
        })
        .with(format!("peak at {}", scale.key), move |row| {
            let (.., (_, law, _)) = row;
            let peak = parameter(row, "peak_at").map(|size| number::estimate_to(Some(size), 1));
            // Amdahl's law never falls.
            peak.or_else(|| (law == USL).then(|| "none nearby".to_owned()))
        })
        .with("peak tps", move |row| parameter(row, "peak_per_s"));
    columns.grid(
        "Scalability laws, fitted by least squares to all valid trials. ±: half width of \
         the 95 % confidence interval of the linearized fit. λ: throughput at size 1. σ: the \
         serialized share of the work. κ: the cost of keeping each pair coherent.",
        rows,
    )
}

/// Measured against fitted, a row for each size.
fn steps(ladder: &Ladder, scale: &Scale) -> Option<Grid> {
    let law = ladder.law.as_ref().ok()?;
    let each = |size: f64, tps: f64| tps / size;
    let first = ladder.rungs.first()?;
    let alone = each(first.size, first.tps.value()?);
    let residual = |rung: &Rung| Some(rung.tps.value()? / law.per_s(rung.size) - 1.0);
    let efficiency = |rung: &Rung| Some(each(rung.size, rung.tps.value()?) / alone);
    let of = around(", ", &ladder.name, "");
    let caption = format!(
        "Throughput as measured and by the laws{of}. Residual: measured relative to the \
         Universal Scalability Law. Efficiency: throughput divided by {key}, relative to that \
         at {}.",
        number::value_to(first.size, 0),
        key = scale.key
    );
    let columns = Columns::<&Rung>::new()
        .key(scale.key.as_str(), |rung| number::value_to(rung.size, 0))
        .with("measured tps", |rung| rung.tps.estimate)
        .with("USL", |rung| law.per_s(rung.size))
        .with("residual %", |rung| {
            Some(format!("{:+.1}", residual(rung)? * 100.0))
        })
        .with("Amdahl", |rung| law.amdahl_per_s(rung.size))
        .with("efficiency %", |rung| {
            Some(format!("{:.0}", efficiency(rung)? * 100.0))
        });
    Some(columns.grid(caption, &ladder.rungs))
}
