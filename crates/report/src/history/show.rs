//! A study over time, as it is shown.

use measure::change::Change;

use super::{Course, History};
use crate::csv::Csv;
use crate::grid::{Grid, heads};
use crate::number;
use crate::sheet::{Section, Sheet};

pub(super) fn sheet(history: &History) -> Sheet {
    Sheet {
        title: "History".to_owned(),
        lead: lead(history),
        cautions: history.cautions.clone(),
        sections: history.courses.iter().map(section).collect(),
    }
}

/// Every change, in the order of the points.
fn lead(history: &History) -> String {
    let changed = history.courses.iter().flat_map(|course| {
        let told = course.changes.iter();
        told.filter_map(move |change| sentence(course, change))
    });
    let changed: Vec<String> = changed.collect();
    match changed.is_empty() {
        true => "Throughput shows no change of its level.".to_owned(),
        false => changed.join(" "),
    }
}

fn sentence(course: &Course, change: &Change) -> Option<String> {
    let entry = course.entries.get(change.at)?;
    let at = match course.point.as_str() {
        "" => String::new(),
        point => format!(" at {point}"),
    };
    Some(format!(
        "Throughput{at} {} from {} ({}) on.",
        in_words(change),
        entry.started,
        entry.name
    ))
}

/// `fell by 4.1 %, from 812 to 779`.
fn in_words(change: &Change) -> String {
    let way = if change.share() > 0.0 { "rose" } else { "fell" };
    format!(
        "{way} by {}, from {} to {} transactions/s",
        number::percent(change.share().abs()),
        number::value(change.before),
        number::value(change.after)
    )
}

fn section(course: &Course) -> Section {
    let rows = course.entries.iter().enumerate().map(|(place, entry)| {
        let change = course.changes.iter().find(|change| change.at == place);
        vec![
            entry.started.clone(),
            entry.name.clone(),
            entry.engine.clone(),
            number::estimate(Some(entry.tps)),
            number::estimate(entry.mean_ms),
            number::estimate(entry.p99_ms),
            entry.n.to_string(),
            change.map_or_else(String::new, |change| {
                format!("{:+.1} % from here on", change.share() * 100.0)
            }),
        ]
    });
    let grid = Grid {
        caption: "Oldest first. ± is half of a 95 % confidence interval, over the n trials where \
                  there are several, else over the seconds of the one. A level holds for three \
                  results at least; of histories without a change at most 2 % show one."
            .to_owned(),
        keys: 3,
        words: 1,
        heads: heads([
            "started", "result", "engine", "tps", "mean ms", "p99 ms", "n", "level",
        ]),
        rows: rows.collect(),
        ..Grid::default()
    };
    Section {
        title: course.point.clone(),
        grids: vec![grid],
        ..Section::default()
    }
}

pub(super) fn csv(history: &History) -> String {
    let mut csv = Csv::default();
    for name in [
        "point",
        "started",
        "result",
        "engine",
        "tps",
        "tps.half_width",
        "response_ms.mean",
        "response_ms.mean.half_width",
        "response_ms.p99",
        "response_ms.p99.half_width",
        "n",
        "level_change_pct",
    ] {
        csv.text(name);
    }
    csv.end_line();
    for course in &history.courses {
        for (place, entry) in course.entries.iter().enumerate() {
            let change = course.changes.iter().find(|change| change.at == place);
            for text in [&course.point, &entry.started, &entry.name, &entry.engine] {
                csv.text(text);
            }
            for estimate in [Some(entry.tps), entry.mean_ms, entry.p99_ms] {
                csv.estimate(estimate);
            }
            csv.number(Some(entry.n as f64));
            csv.number(change.map(|change| change.share() * 100.0));
            csv.end_line();
        }
    }
    csv.text
}
