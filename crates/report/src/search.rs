//! Searches for the highest rate within a limit: what they found, and by which steps.

mod words;

use measure::column;
use measure::find_max::{AtRate, FoundMax, SearchEnd, SearchStep, StepCaveat};
use measure::quantile::FEWEST_SLOWER;
use measure::result::RunResult;
use measure::steady::MIN_SECONDS;

use crate::columns::Columns;
use crate::grid::Grid;
use crate::keys;
use crate::list::joined;
use crate::sheet::{self, Block, Figure, Section};

/// The answer in a few sentences; `None` without a search.
pub(crate) fn lead(result: &RunResult) -> Option<String> {
    words::lead(result)
}

/// What was found, by which steps, and the curve; `None` without a search.
pub(crate) fn section(result: &RunResult) -> Option<Section> {
    let searches = result.searches.as_slice();
    let first = searches.first()?;
    let told = searches.iter().map(|search| words::of(search, result));
    let mut blocks: Vec<Block> = sheet::words(told).collect();
    blocks.push(Block::Figure(figure(first)));
    blocks.extend((searches.len() > 1).then(|| Block::Table(found(result))));
    let steps = searches
        .iter()
        .map(|search| Block::Table(steps(search, result)));
    blocks.extend(steps);
    Some(Section::new("Highest rate within a limit", blocks))
}

/// Of one search its steps; of several what each found.
pub(crate) fn first_table(section: Section) -> Option<Grid> {
    let mut blocks = section.blocks.into_iter();
    blocks.find_map(|block| match block {
        Block::Table(grid) => Some(grid),
        _ => None,
    })
}

/// The place of the trial that shows the highest rate that held, from 0.
pub(crate) fn best_trial(result: &RunResult) -> Option<usize> {
    let held = result.searches.iter().filter_map(FoundMax::held);
    let best = held.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
    let number = best.trials.last()?;
    let mut trials = result.trials.iter();
    trials.position(|trial| trial.setup.planned.number == *number)
}

/// What a search stands for: `rows=1000, repeat 2`; nothing where there is one.
pub(crate) fn name(search: &FoundMax, result: &RunResult) -> String {
    let name = keys::name_of(&search.point, &keys::axes(result));
    match (name.is_empty(), repeated(result)) {
        (_, false) => name,
        (true, true) => format!("repeat {}", search.repeat),
        (false, true) => format!("{name}, repeat {}", search.repeat),
    }
}

fn repeated(result: &RunResult) -> bool {
    result.searches.iter().any(|search| search.repeat > 1)
}

/// A row for each of several searches.
fn found(result: &RunResult) -> Grid {
    let rate = |at: Option<AtRate>| at.map(|at| at.rate_per_s);
    let columns = Columns::<&FoundMax>::new()
        .key("search", |search| name(search, result))
        .with("within limit", |search| rate(search.held()))
        .with("above limit", |search| rate(search.failed()))
        .with("knee", |search| rate(search.knee()))
        .with("closed loop", |search| search.capacity_per_s)
        .with("steps", |search| search.steps.len())
        .words("ended", |search| ended(&search.end));
    columns.grid(
        "The result of each search, in transactions per second: the highest rate within \
         the limit, the lowest rate above it, the knee of the curve, and the throughput \
         of a closed loop.",
        &result.searches,
    )
}

/// How a search ended, in a word or two.
fn ended(end: &SearchEnd) -> &'static str {
    match end {
        SearchEnd::Found { .. } => "found",
        SearchEnd::OutOfTrials { .. } => "out of trials",
        SearchEnd::NoRate { .. } => "no rate found",
        SearchEnd::Stopped { .. } => "stopped",
    }
}

/// The steps of one search, in the order in which they ran.
fn steps(search: &FoundMax, result: &RunResult) -> Grid {
    let of = match result.searches.len() {
        1 => String::new(),
        _ => format!(" of {}", name(search, result)),
    };
    let caption = format!(
        "Steps{of} in the order in which they ran: requested arrivals and completed \
         transactions per second; response times in milliseconds. Limit: {} ms.{}",
        search.limit_ms,
        caveats(search)
    );
    let columns = Columns::<&SearchStep>::new()
        .key("trial", |step| step.trial.to_string())
        .with("rate", |step| step.rate_per_s)
        .with("tps", |step| step.achieved_per_s)
        .with("mean", |step| step.mean_ms)
        .with(column::heading(&search.column), |step| step.value_ms)
        .words("verdict", |step| {
            let longer = if step.long { ", in a longer trial" } else { "" };
            let caveats = step.caveats.iter().map(|caveat| format!(", {caveat}"));
            format!("{}{longer}{}", step.verdict, caveats.collect::<String>())
        });
    columns.grid(caption, &search.steps)
}

/// What the words for caveats mean, where there are any.
fn caveats(search: &FoundMax) -> String {
    let of = |caveat, words: &str| {
        let mut steps = search.steps.iter();
        let told = steps.any(|step| step.caveats.contains(&caveat));
        told.then(|| format!(" {words}"))
    };
    let few =
        format!("Few slower: fewer than {FEWEST_SLOWER} transactions exceeded the percentile.");
    let short = format!("Short: less than {MIN_SECONDS} s, too short to detect steady state.");
    let all = [
        of(StepCaveat::FewSlower, &few),
        of(StepCaveat::Short, &short),
    ];
    all.into_iter().flatten().collect()
}

fn figure(search: &FoundMax) -> Figure {
    let heading = column::heading(&search.column);
    Figure {
        id: "searches",
        label: format!(
            "Line chart of the response time ({heading}) against throughput; its values are in the \
             tables."
        ),
        caption: format!(
            "Response time ({heading}) by throughput, with a point for each rate: its longer \
             trial, or the mean of its trials. Dotted line: the limit. Crosses: steps at which \
             arrivals exceeded throughput. Ring: the knee, where response times begin to climb."
        ),
    }
}

/// A line for each step of each search; nothing is rounded. `None` without a search.
pub fn csv(result: &RunResult) -> Option<String> {
    let first = result.searches.first()?;
    let axes = keys::axes(result).into_iter();
    let axes = axes.filter(|key| first.point.contains_key(*key));
    let columns = Columns::<(&FoundMax, &SearchStep)>::new()
        .each(axes, |columns, key| {
            columns.with(key, move |(search, _)| search.point.get(key))
        })
        .with("repeat", |(search, _)| search.repeat)
        .with("column", |(search, _)| &search.column)
        .with("limit_ms", |(search, _)| search.limit_ms)
        .with("capacity_per_s", |(search, _)| search.capacity_per_s)
        .with("trial", |(_, step)| step.trial)
        .with("rate_per_s", |(_, step)| step.rate_per_s)
        .with("achieved_per_s", |(_, step)| step.achieved_per_s)
        .with("mean_ms", |(_, step)| step.mean_ms)
        .with("value_ms", |(_, step)| step.value_ms)
        .with("long", |(_, step)| step.long)
        .with("verdict", |(_, step)| step.verdict.to_string())
        .with("caveats", |(_, step)| {
            joined(step.caveats.iter().map(StepCaveat::to_string), "; ")
        });
    let searches = result.searches.iter();
    Some(columns.csv(searches.flat_map(|search| {
        let steps = search.steps.iter();
        steps.map(move |step| (search, step))
    })))
}
