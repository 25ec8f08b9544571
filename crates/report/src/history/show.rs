//! A study over time, as it is shown.

use measure::change_point::ChangePoint;

use super::{Course, FEWEST, History};
use crate::answer::Answer;
use crate::cell::{FEW, PERCENTILES};
use crate::csv_writer::Csv;
use crate::grid::{Grid, heads};
use crate::number;
use crate::sheet::{self, Block, Section, Sheet};

/// What the cells of all grids are.
const CELLS: &str = "Oldest first. ±: half width of the 95 % confidence interval, over the n \
                     trials, or over the seconds of a single one. Level: where throughput or mean \
                     response time changed; each level spans at least three results. False-positive \
                     rate: at most 2 %.";

impl Answer for History {
    fn sheet(&self) -> Sheet {
        let mut blocks = vec![Block::Words(format!("{CELLS} {PERCENTILES} {FEW}"))];
        blocks.extend(self.courses.iter().map(grid).map(Block::Table));
        Sheet {
            title: "History".to_owned(),
            version: self.version.clone(),
            lead: lead(self),
            notices: sheet::cautions(&self.cautions).into_iter().collect(),
            sections: vec![Section::new("", blocks)],
            ..Sheet::default()
        }
    }

    fn csv(&self) -> String {
        let mut csv = Csv::default();
        csv.names("point started result engine");
        csv.names(Csv::POINT);
        csv.names("n tps.level_change_pct response_ms.mean.level_change_pct");
        csv.end_line();
        for course in &self.courses {
            for (place, entry) in course.entries.iter().enumerate() {
                for text in [&course.point, &entry.started, &entry.name, &entry.engine] {
                    csv.text(text);
                }
                csv.point(Some(entry.tps), entry.mean_ms, &entry.p99_ms);
                csv.count(entry.n);
                for changes in [&course.changes, &course.response_changes] {
                    csv.number(began(changes, place).map(|share| share * 100.0));
                }
                csv.end_line();
            }
        }
        csv.text
    }
}

/// Every change, in the order of the points.
fn lead(history: &History) -> String {
    let changed = history.courses.iter().flat_map(|course| {
        let tps = course.changes.iter();
        let tps = tps.filter_map(|change| sentence(course, "Throughput", change, "transactions/s"));
        let times = course.response_changes.iter();
        let times = times.filter_map(|change| sentence(course, "Mean response time", change, "ms"));
        tps.chain(times).collect::<Vec<_>>()
    });
    let changed: Vec<String> = changed.collect();
    match (changed.is_empty(), history.longest() < FEWEST) {
        (true, true) => format!(
            "Too few results to detect a level change: {} of at least {FEWEST}, three before and \
             three after.",
            history.longest()
        ),
        (true, false) => "No level change detected in throughput or mean response time.".to_owned(),
        (false, _) => changed.join(" "),
    }
}

fn sentence(course: &Course, number: &str, change: &ChangePoint, unit: &str) -> Option<String> {
    let entry = course.entries.get(change.at)?;
    let at = match course.point.as_str() {
        "" => String::new(),
        point => format!(" at {point}"),
    };
    Some(format!(
        "{number}{at} {} {unit}, starting {} ({}).",
        in_words(change),
        entry.started,
        entry.name
    ))
}

/// `fell by 4.1 %, from 812 to 779`, without a unit.
fn in_words(change: &ChangePoint) -> String {
    let way = if change.share() > 0.0 { "rose" } else { "fell" };
    format!(
        "{way} by {}, from {} to {}",
        number::percent(change.share().abs()),
        number::value(change.before),
        number::value(change.after)
    )
}

fn grid(course: &Course) -> Grid {
    let rows = course.entries.iter().enumerate().map(|(place, entry)| {
        vec![
            entry.started.clone(),
            entry.name.clone(),
            entry.engine.clone(),
            number::estimate(Some(entry.tps)),
            number::estimate(entry.mean_ms),
            entry.p99_ms.shown(),
            entry.n.to_string(),
            level(course, place),
        ]
    });
    Grid {
        caption: match course.point.as_str() {
            "" => String::new(),
            point => format!("At {point}."),
        },
        keys: 3,
        words: 1,
        heads: heads([
            "started", "result", "engine", "tps", "mean ms", "p99 ms", "n", "level",
        ]),
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// `tps -8.0 %, mean +8.7 % from here on` where a level begins.
fn level(course: &Course, place: usize) -> String {
    let numbers = [("tps", &course.changes), ("mean", &course.response_changes)];
    let told = numbers.into_iter().filter_map(|(name, changes)| {
        let share = began(changes, place)?;
        Some(format!("{name} {:+.1} %", share * 100.0))
    });
    let told: Vec<String> = told.collect();
    match told.is_empty() {
        true => String::new(),
        false => format!("{} from here on", told.join(", ")),
    }
}

/// The share by which a level that begins at this place differs from the one before.
fn began(changes: &[ChangePoint], place: usize) -> Option<f64> {
    let change = changes.iter().find(|change| change.at == place)?;
    Some(change.share())
}
