//! The boards as they are shown.

use measure::interval::FEWEST_RUNS;

use super::Ranking;
use super::board::{Board, Standing};
use crate::answer::Answer;
use crate::cell::{FEW, PERCENTILES};
use crate::csv_writer::Csv;
use crate::grid::{Grid, heads};
use crate::number;
use crate::sheet::{self, Block, Section, Sheet};

/// What the cells of all boards are.
const CELLS: &str = "Ranked by mean throughput. ±: half width of the 95 % confidence interval, \
                     over the n trials, or over the seconds of a single one. =: tied, not \
                     significantly different from the first entry of that rank, or without a \
                     verdict. Response times \
                     count from the intended start; peak is the maximum.";

impl Answer for Ranking {
    fn sheet(&self) -> Sheet {
        let boards = &self.boards;
        let mut cautions = repeats(boards);
        cautions.extend(self.cautions.iter().cloned());
        let mut blocks = vec![Block::Words(format!("{CELLS} {PERCENTILES} {FEW}"))];
        blocks.extend(boards.iter().map(grid).map(Block::Table));
        Sheet {
            title: "Leader board".to_owned(),
            version: self.version.clone(),
            lead: lead(boards),
            notices: sheet::cautions(&cautions).into_iter().collect(),
            sections: vec![Section::new("", blocks)],
            ..Sheet::default()
        }
    }

    fn csv(&self) -> String {
        let mut csv = Csv::default();
        csv.names("category instances rank tied description result at");
        csv.names(Csv::POINT);
        csv.names("response_ms.max n");
        csv.end_line();
        for board in &self.boards {
            for place in &board.places {
                line(&mut csv, place);
            }
        }
        csv.text
    }
}

/// `PCIe, 4 servers at once`.
fn name(board: &Board) -> String {
    match (board.category.as_str(), board.instances) {
        ("", 1) => "One server".to_owned(),
        ("", several) => format!("{several} servers at once"),
        (category, 1) => format!("{category}, one server"),
        (category, several) => format!("{category}, {several} servers at once"),
    }
}

/// The first of each board with several entries.
fn lead(boards: &[Board]) -> String {
    let contested = boards.iter().filter(|board| board.places.len() > 1);
    let first: Vec<String> = contested.map(first).collect();
    match first.is_empty() {
        true => "Nothing to rank: no two results have the same category and number of servers."
            .to_owned(),
        false => first.join(" "),
    }
}

fn first(board: &Board) -> String {
    let first = board.places.iter().filter(|place| place.rank == 1);
    let first: Vec<&str> = first
        .map(|place| place.entry.description.as_str())
        .collect();
    let (name, all) = (name(board), board.places.len());
    let tps = board.places.first().map(|place| place.entry.tps.shown());
    let tps = tps.unwrap_or_default();
    match first.as_slice() {
        [one] => format!("{name}: {one} is first of {all}, with {tps} tps."),
        [highest, ..] if board.no_verdict().is_some() => format!(
            "{name}: no verdict on {all} entries; the highest throughput was that of {highest}, \
             with {tps} tps."
        ),
        several => format!(
            "{name}: tied for first of {all}: {}. Their differences are not significant.",
            several.join(", ")
        ),
    }
}

fn grid(board: &Board) -> Grid {
    let at = board.places.iter().any(|place| !place.entry.at.is_empty());
    let mut titles = vec!["rank", "description", "instances"];
    titles.extend(at.then_some("best at"));
    let keys = titles.len();
    titles.extend(["tps", "mean ms", "p99 ms", "peak ms", "n"]);
    let rows = board.places.iter().map(|place| {
        let entry = &place.entry;
        let mut row = vec![
            shown_rank(place),
            entry.description.clone(),
            entry.instances.to_string(),
        ];
        row.extend(at.then(|| match entry.at.as_str() {
            "" => number::ABSENT.to_owned(),
            at => at.to_owned(),
        }));
        row.extend([
            entry.tps.shown(),
            entry.mean.shown(),
            entry.p99.shown(),
            number::maybe(entry.peak_ms),
            entry.tps.n.to_string(),
        ]);
        row
    });
    Grid {
        caption: format!("{}.", name(board)),
        heads: heads(titles),
        keys,
        rows: rows.collect(),
        ..Grid::default()
    }
}

/// `2=` where it is shared.
fn shown_rank(place: &Standing) -> String {
    let shared = if place.tied { "=" } else { "" };
    format!("{}{shared}", place.rank)
}

/// Cautions about entries without repeats.
fn repeats(boards: &[Board]) -> Vec<String> {
    let places = || boards.iter().flat_map(|board| &board.places);
    let named = |holds: fn(&Standing) -> bool| {
        let names = places().filter(|place| holds(place));
        let names: Vec<&str> = names
            .map(|place| place.entry.description.as_str())
            .collect();
        names.join(", ")
    };
    let single = named(|place| place.entry.tps.n == 1 && place.entry.tps.half_width().is_some());
    let few = named(|place| place.entry.tps.has_few_trials());
    let unsure = named(|place| place.entry.tps.n == 1 && place.entry.tps.half_width().is_none());
    let mut cautions = Vec::new();
    if !single.is_empty() {
        cautions.push(format!(
            "Only one trial each: {single}. Single trials tie with every other, because their \
             intervals exclude run-to-run variation. Repeat the trials (load.repeats)."
        ));
    }
    if !few.is_empty() {
        cautions.push(format!(
            "Fewer than {FEWEST_RUNS} trials, too few for a confidence interval: {few}."
        ));
    }
    if !unsure.is_empty() {
        cautions.push(format!(
            "Too short for a confidence interval: {unsure}. Measure longer, or repeat the trials \
             (load.repeats)."
        ));
    }
    cautions
}

fn line(csv: &mut Csv, place: &Standing) {
    let entry = &place.entry;
    csv.text(&entry.category);
    csv.count(entry.instances);
    csv.count(place.rank);
    csv.text(if place.tied { "true" } else { "false" });
    csv.text(&entry.description);
    csv.text(&entry.name);
    csv.text(&entry.at);
    csv.point(entry.tps.estimate, entry.mean.estimate, &entry.p99);
    csv.number(entry.peak_ms);
    csv.count(entry.tps.n);
    csv.end_line();
}
