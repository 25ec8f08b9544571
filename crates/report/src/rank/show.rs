//! The boards as they are shown.

use measure::interval::FEWEST_RUNS;

use super::{Board, Ranking, Standing};
use crate::answer::Answer;
use crate::cell::{Cell, FEW, PERCENTILES};
use crate::columns::Columns;
use crate::grid::Grid;
use crate::sheet::{Block, Sheet};

/// What the cells of all boards are.
const CELLS: &str = "Ranked by mean throughput. ±: half width of the 95 % confidence interval, \
                     over the n trials, or over the seconds of a single one. =: tied, not \
                     significantly different from the first entry of that rank, or without a \
                     verdict. Response times \
                     count from the intended start; peak is the maximum.";

impl Answer for Ranking {
    fn sheet(&self) -> Sheet {
        let boards = &self.boards;
        let cautions = [repeats(boards), self.cautions.clone()].concat();
        let mut blocks = vec![Block::Words(format!("{CELLS} {PERCENTILES} {FEW}"))];
        blocks.extend(boards.iter().map(grid).map(Block::Table));
        Sheet::answer(
            "Leader board",
            &self.version,
            lead(boards),
            &cautions,
            blocks,
        )
    }

    fn csv(&self) -> String {
        let columns = Columns::<&Standing>::new()
            .with("category", |place| &place.entry.category)
            .with("instances", |place| place.entry.instances)
            .with("rank", |place| place.rank)
            .with("tied", |place| place.tied)
            .with("description", |place| &place.entry.description)
            .with("result", |place| &place.entry.name)
            .with("at", |place| &place.entry.at)
            .point(|place| {
                let entry = &place.entry;
                (entry.tps.estimate, entry.mean.estimate, entry.p99)
            })
            .with("response_ms.max", |place| place.entry.peak_ms)
            .with("n", |place| place.entry.tps.n);
        columns.csv(self.boards.iter().flat_map(|board| &board.places))
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
    let columns = Columns::<&Standing>::new()
        .key("rank", |place| {
            format!("{}{}", place.rank, if place.tied { "=" } else { "" })
        })
        .key("description", |place| &place.entry.description)
        .key("instances", |place| place.entry.instances)
        .when(at, |columns| {
            columns.key("best at", |place| {
                Some(&place.entry.at).filter(|at| !at.is_empty())
            })
        })
        .with("tps", |place| place.entry.tps)
        .with("mean ms", |place| place.entry.mean)
        .with("p99 ms", |place| place.entry.p99)
        .with("peak ms", |place| place.entry.peak_ms)
        .with("n", |place| place.entry.tps.n);
    columns.grid(format!("{}.", name(board)), &board.places)
}

/// Cautions about entries without repeats.
fn repeats(boards: &[Board]) -> Vec<String> {
    let entries = || {
        let places = boards.iter().flat_map(|board| &board.places);
        places.map(|place| &place.entry)
    };
    let named = |holds: fn(&Cell) -> bool| {
        let names = entries().filter(|entry| holds(&entry.tps));
        let names: Vec<&str> = names.map(|entry| entry.description.as_str()).collect();
        (!names.is_empty()).then(|| names.join(", "))
    };
    let single = named(|tps| tps.n == 1 && tps.half_width().is_some()).map(|names| {
        format!(
            "Only one trial each: {names}. Single trials tie with every other, because their \
             intervals exclude run-to-run variation. Repeat the trials (load.repeats)."
        )
    });
    let few = named(Cell::has_few_trials).map(|names| {
        format!("Fewer than {FEWEST_RUNS} trials, too few for a confidence interval: {names}.")
    });
    let unsure = named(|tps| tps.n == 1 && tps.half_width().is_none()).map(|names| {
        format!(
            "Too short for a confidence interval: {names}. Measure longer, or repeat the trials \
             (load.repeats)."
        )
    });
    [single, few, unsure].into_iter().flatten().collect()
}
