//! Scalability in words and tables.

use measure::interval::Estimate;
use measure::scale::{GoodnessOfFit, Peak, Scaling};

use super::{Ladder, Rung, Scale};
use crate::columns::Columns;
use crate::grid::{Content, Grid};
use crate::number;
use crate::sheet::{self, Block, Figure, Section};

pub(super) fn section(scale: &Scale) -> Section {
    let fitted = || scale.ladders.iter().filter(|ladder| ladder.law.is_ok());
    let mut blocks: Vec<Block> = sheet::words(answers(scale)).collect();
    if fitted().count() > 0 {
        blocks.push(Block::Figure(figure(scale)));
        blocks.push(Block::Table(laws(scale)));
    }
    blocks.extend(
        fitted()
            .filter_map(|ladder| steps(ladder, scale))
            .map(Block::Table),
    );
    Section::new("Scalability", blocks)
}

fn figure(scale: &Scale) -> Figure {
    Figure {
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
    let mut said: Vec<(String, Vec<&str>)> = Vec::new();
    for ladder in &scale.ladders {
        let words = words(ladder, scale);
        match said.iter_mut().find(|(known, _)| *known == words) {
            Some((_, names)) => names.push(&ladder.name),
            None => said.push((words, vec![&ladder.name])),
        }
    }
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

/// The answer in a few sentences.
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
    let (at, tps) = (number::estimate_to(Some(peak.size), 1), peak.per_s);
    let tps = number::estimate(Some(tps));
    let largest = number::value_to(ladder.largest(), 0);
    let unsure = match peak.size.half_width {
        Some(_) => "",
        None => ", although the data do not exclude that it never falls",
    };
    match peak.is_measured {
        true => format!(
            "Throughput peaks at {at} {}, with {tps} transactions/s, and falls beyond that{unsure}.",
            scale.key
        ),
        false => format!(
            "By extrapolation, throughput would peak at {at} {}, with {tps} transactions/s; no more \
             than {largest} were measured{unsure}.",
            scale.key
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
    let untested = match law.goodness_of_fit {
        GoodnessOfFit::Untested => " The goodness of fit cannot be tested: no size was repeated.",
        GoodnessOfFit::Repeats { .. } | GoodnessOfFit::Intervals { .. } => "",
    };
    if law.contention.value <= 0.0 && law.coherency.value <= 0.0 {
        return format!(
            "It scales linearly, with no measurable contention (σ {}) or coherency cost (κ {}); \
             {explained}{untested}",
            percent(law.contention),
            percent(law.coherency)
        );
    }
    let open = |share: Estimate| match share.half_width {
        Some(half) if share.value > 0.0 && half >= share.value => ", not distinguishable from 0",
        _ => "",
    };
    format!(
        "{} of the work is serialized (contention σ{}), and keeping each pair coherent costs {} \
         (coherency κ{}); {explained}{untested}",
        percent(law.contention),
        open(law.contention),
        percent(law.coherency),
        open(law.coherency)
    )
}

/// The laws side by side, a row for each.
fn laws(scale: &Scale) -> Grid {
    let named = scale.ladders.len() > 1;
    let rows = scale.ladders.iter().flat_map(|ladder| {
        let laws = ladder.law.iter().flat_map(all);
        laws.map(move |law| (&*ladder.name, law))
    });
    let rows: Vec<(&str, Law)> = rows.collect();
    let missing = |law: &Law| law.alone_per_s.is_none().then_some("does not fit");
    let columns = Columns::<&(&str, Law)>::new()
        .when(named, |columns| columns.key("", |(name, _)| *name))
        .key("law", |(_, law)| law.name)
        .with("λ, tps", |(_, law)| match missing(law) {
            Some(words) => words.into(),
            None => Content::from(law.alone_per_s),
        })
        .with("σ", |(_, law)| law.contention.map(share))
        .with("κ", |(_, law)| law.coherency.map(share))
        .with("R²", |(_, law)| {
            law.r_squared.map(|r_squared| format!("{r_squared:.3}"))
        })
        .with(format!("peak at {}", scale.key), |(_, law)| {
            law.peak_at.clone()
        })
        .with("peak tps", |(_, law)| law.peak_per_s);
    columns.grid(
        "Scalability laws, fitted by least squares to all valid trials. ±: half width of \
         the 95 % confidence interval of the linearized fit. λ: throughput at size 1. σ: the \
         serialized share of the work. κ: the cost of keeping each pair coherent.",
        &rows,
    )
}

/// A row of the table of laws.
#[derive(Default)]
struct Law {
    name: &'static str,
    alone_per_s: Option<Estimate>,
    contention: Option<Estimate>,
    coherency: Option<Estimate>,
    r_squared: Option<f64>,
    peak_at: Option<String>,
    peak_per_s: Option<Estimate>,
}

fn all(law: &Scaling) -> [Law; 2] {
    let peak_at = |peak: Peak| number::estimate_to(Some(peak.size), 1);
    let universal = Law {
        name: "Universal Scalability Law",
        alone_per_s: Some(law.alone_per_s),
        contention: Some(law.contention),
        coherency: Some(law.coherency),
        r_squared: Some(law.r_squared),
        peak_at: Some(law.peak.map_or_else(|| "none nearby".to_owned(), peak_at)),
        peak_per_s: law.peak.map(|peak| peak.per_s),
    };
    let amdahl = Law {
        name: "Amdahl",
        alone_per_s: law.amdahl.map(|law| law.alone_per_s),
        contention: law.amdahl.map(|law| law.share),
        r_squared: law.amdahl.map(|law| law.r_squared),
        ..Law::default()
    };
    [universal, amdahl]
}

/// Measured against fitted, a row for each size.
fn steps(ladder: &Ladder, scale: &Scale) -> Option<Grid> {
    let law = ladder.law.as_ref().ok()?;
    let each = |size: f64, tps: f64| tps / size;
    let first = ladder.rungs.first()?;
    let alone = each(first.size, first.tps.value()?);
    let residual = |rung: &Rung| {
        let off = rung.tps.value()? / law.per_s(rung.size) - 1.0;
        Some(format!("{:+.1}", off * 100.0))
    };
    let efficiency = |rung: &Rung| {
        let share = each(rung.size, rung.tps.value()?) / alone;
        Some(format!("{:.0}", share * 100.0))
    };
    let of = match ladder.name.as_str() {
        "" => String::new(),
        name => format!(", {name}"),
    };
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
        .with("residual %", residual)
        .with("Amdahl", |rung| law.amdahl_per_s(rung.size))
        .with("efficiency %", efficiency);
    Some(columns.grid(caption, &ladder.rungs))
}

/// `1.2 % ± 0.3 %`.
fn percent(share: Estimate) -> String {
    let digits = digits(largest(share) * 100.0).saturating_sub(1);
    let one = |share: f64| format!("{:.digits$} %", share * 100.0);
    match share.half_width {
        // At its bound it has an upper end only.
        Some(most) if share.value <= 0.0 => format!("0 %, at most {}", one(most)),
        Some(half) => format!("{} ± {}", one(share.value), one(half)),
        None => one(share.value),
    }
}

/// A share with three significant digits, since coherency is often far below 1.
pub(crate) fn share(share: Estimate) -> String {
    let digits = digits(largest(share));
    match share.half_width {
        Some(most) if share.value <= 0.0 => format!("0, at most {most:.digits$}"),
        Some(half) => format!("{:.digits$} ± {half:.digits$}", share.value),
        None => format!("{:.digits$}", share.value),
    }
}

/// The value, or its half width where that is more: what has digits worth showing.
fn largest(share: Estimate) -> f64 {
    share.value.abs().max(share.half_width.unwrap_or(0.0))
}

/// Decimals that leave three digits of a number that are not 0.
fn digits(value: f64) -> usize {
    const MOST: f64 = 9.0;
    match value.abs() {
        size if size > 0.0 => (2.0 - size.log10().floor()).clamp(0.0, MOST) as usize,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_shares_keep_their_digits() {
        let of = |value, half| Estimate {
            value,
            half_width: half,
        };
        assert_eq!(
            share(of(1.043_65e-4, Some(5.518e-5))),
            "0.000104 ± 0.000055"
        );
        assert_eq!(percent(of(0.027_728, Some(0.0253))), "2.8 % ± 2.5 %");
        assert_eq!(percent(of(1.04e-4, None)), "0.010 %");
        let none = of(1e-14, Some(2.397_886e-4));
        assert_eq!(share(none), "0.000000 ± 0.000240");
        assert_eq!(percent(none), "0.000 % ± 0.024 %");
        assert_eq!(
            (share(of(0.0, None)), percent(of(0.0, None))),
            ("0".into(), "0 %".into())
        );
    }
}
