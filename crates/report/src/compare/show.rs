//! Two sides as they are shown.

use measure::column::{heading, unit};
use measure::compare::{Change, LEAST};
use plan::Value;

use super::differences::{Category, Difference, of_platforms};
use super::{Matched, Number, ResultComparison, carried, recoveries, words};
use crate::answer::Answer;
use crate::figures::{Figures, captions};
use crate::grid::{Columns, Content, Grid};
use crate::keys;
use crate::list::{around, distinct, grouped, with_parts};
use crate::sheet::{Block, Section, Sheet, tables};

impl Answer for ResultComparison {
    fn sheet(&self) -> Sheet {
        let mut blocks = blocks(self);
        blocks.extend(captions::of_sweep(&self.merged, Some("of both")));
        blocks.push(captions::curves_of_two());
        let intended = "Settings that the study varies between the two.";
        let intended = differing("Intended differences", intended, self, &self.intended);
        let others = "Any of these may also cause a difference in the results.";
        let others = differing(OTHERS, others, self, &self.others).unwrap_or_else(|| {
            let words = "dyno recorded no other differences.".to_owned();
            Section::new(OTHERS, vec![Block::Words(words)])
        });
        let sections = intended.into_iter().chain([others]);
        let lead = words::lead(self);
        let (title, version) = (&self.merged.title, &self.merged.environment.dyno_version);
        let mut answer = Sheet::answer(title, version, lead, &self.cautions, blocks);
        answer.sections.extend(sections);
        answer
    }

    fn csv(&self) -> String {
        let keys = self.points.first().map_or(&[][..], |point| &point.point);
        let keys = keys.iter().map(|(key, _)| key.as_str()).enumerate();
        let interval = |number: &Number| number.change_pct()?.interval;
        let recoveries = with_parts(&self.points, |point| &point.recoveries);
        let recoveries = recoveries.map(|(point, one)| (point, &*one.fault, one.number()));
        let recoveries: Vec<_> = recoveries.collect();
        let columns = Columns::<(&Matched, &str, &Number)>::new()
            .each(keys, |columns, (place, key)| {
                columns.with(key, move |(point, ..)| point.point.get(place)?.1.as_ref())
            })
            .when(!recoveries.is_empty(), |columns| {
                columns.with("fault", |(_, fault, _)| fault)
            })
            .with("column", |(.., number)| number.column)
            .estimate("base", |(.., number)| number.base)
            .with("base.n", |(.., number)| number.base_n)
            .estimate("new", |(.., number)| number.new)
            .with("new.n", |(.., number)| number.new_n)
            .with("change_pct", |(.., one)| Some(one.change_pct()?.value))
            .with("change_pct.low", move |(.., n)| Some(interval(n)?.low))
            .with("change_pct.high", move |(.., n)| Some(interval(n)?.high))
            .with("confidence", move |(.., number)| {
                interval(number).and(Some(number.comparison?.confidence))
            })
            .with("p", |(.., number)| number.comparison?.p)
            .with("p_adjusted", |(.., number)| number.comparison?.p_adjusted)
            .with("decision", |(.., n)| Some(n.comparison?.decision.code()))
            .with("repeats_needed", |(.., one)| {
                one.comparison?.decision.repeats_needed()
            })
            .with("verdict", |(.., number)| words::verdict(number));
        let of_points = numbers(self).map(|(point, number)| (point, "", number));
        let of_faults = recoveries
            .iter()
            .map(|(point, fault, number)| (*point, *fault, number));
        columns.csv(of_points.chain(of_faults))
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::overview_of(&self.merged, Some(self.names())))
    }
}

const OTHERS: &str = "Other differences";

/// Two variants in the report of their study: the answer in words, too.
pub(super) fn answer(both: &ResultComparison) -> Section {
    let mut answer = vec![Block::Words(words::found(both))];
    answer.extend(carried::caution(&both.points).map(Block::Words));
    answer.extend(blocks(both));
    Section::new(&both.merged.title, answer)
}

/// Several variants in the report of their study, each against the first.
pub(super) fn answers(all: &[ResultComparison]) -> Section {
    let base = all.first().map_or("", |both| both.base.as_str());
    let untested = words::untested(all);
    let mut words: Vec<String> = match untested {
        Some(reason) => vec![words::missing(reason)],
        None => all.iter().map(words::in_short).collect(),
    };
    words.extend(all.iter().filter_map(of_platforms));
    let cautions = all.iter().filter_map(|both| carried::caution(&both.points));
    words.extend(distinct(cautions));
    words.push(format!(
        "To compare any two: dyno compare RESULT --base '{base}' --new NAME."
    ));
    let mut blocks: Vec<Block> = words.into_iter().map(Block::Words).collect();
    blocks.extend(tables([verdicts(all), recoveries::grid(all)]));
    Section::new(format!("Variants against {base}"), blocks)
}

/// How alike the platforms are, both sides by point, and what each number shows.
fn blocks(both: &ResultComparison) -> Vec<Block> {
    let mut grids = grids(both);
    let alone = std::slice::from_ref(both);
    grids.push(verdicts(alone));
    let platforms = of_platforms(both).map(Block::Words).into_iter();
    let grids = grids.into_iter().map(Block::Table);
    let recoveries = tables([recoveries::grid(alone)]);
    platforms.chain(grids).chain(recoveries).collect()
}

/// How verdicts are reached; nothing where there is none.
fn rule(all: &[ResultComparison]) -> String {
    let points = || all.iter().flat_map(|both| &both.points);
    let mut found = points().flat_map(|point| point.numbers.iter().filter_map(|n| n.comparison));
    if !found.any(|found| found.is_tested()) {
        return String::new();
    }
    let is_open = |open: bool| points().any(|point| point.open_loop == open);
    let first = match (is_open(false), is_open(true)) {
        (true, true) => {
            "Throughput is the primary metric, from which the mean response time follows; at fixed \
             arrival rates, which set throughput, it is the mean response time"
        }
        (false, true) => {
            "Mean response time is the primary metric; throughput is set by the arrival rate"
        }
        _ => "Throughput is the primary metric, from which the mean response time follows",
    };
    let least = 100.0 * LEAST;
    format!(
        "{first}. Percentiles are tested only where the primary metric has a verdict. \
         Family-wise error rate: 5 % (Holm). Each interval has the confidence level of its test, \
         95 % or more. Equivalent: the whole interval lies within ±{least} %. Changes of less than \
         {least} % are never called faster or slower."
    )
}

/// Each metric of comparisons with one base; the verdicts, where there is any.
fn verdicts(all: &[ResultComparison]) -> Grid {
    type Row<'a> = (&'a ResultComparison, &'a Matched, &'a Number);
    let rows = all.iter().flat_map(|both| {
        let numbers = numbers(both);
        numbers.map(move |(point, number)| (both, point, number))
    });
    let rows: Vec<Row<'_>> = rows.collect();
    let (base, new, relative) = match all {
        [] => return Grid::default(),
        [one] => (&*one.base, &*one.new, &*one.new),
        [first, ..] => (&*first.base, "variant", "the variant"),
    };
    let untested = words::untested(all);
    let verdict = |number: &Number| words::cell(number, untested);
    let has_verdicts = rows.iter().any(|(.., number)| !verdict(number).is_empty());
    let is_named = rows.iter().any(|(_, point, _)| !point.name.is_empty());
    let columns = Columns::<Row<'_>>::new()
        .when(all.len() > 1, |columns| {
            columns.key("name", |(both, ..)| &both.new)
        })
        .when(is_named, |columns| {
            columns.key("point", |(_, point, _)| &point.name)
        })
        .key("metric", |(.., number)| head(number.column))
        .with(base, |(.., number)| number.base)
        .with(new, |(.., number)| number.new)
        .with("change %", |(.., number)| shown_change(number))
        .words_if(has_verdicts, "verdict", |(.., number)| verdict(number));
    let caption = format!(
        "Each metric. Change: {relative} relative to {base}, {}.",
        methods(all.iter().flat_map(numbers))
    );
    Grid {
        note: rule(all),
        ..columns.grid(caption, rows.iter().copied())
    }
}

fn numbers(both: &ResultComparison) -> impl Iterator<Item = (&Matched, &Number)> {
    with_parts(&both.points, |point| &point.numbers)
}

fn shown_change(number: &Number) -> Option<Change> {
    let found = number.comparison.as_ref().map(words::shown_change);
    found.or_else(|| number.change_pct())
}

fn head(column: &str) -> String {
    match unit(column) {
        "ms" => format!("{}, ms", heading(column)),
        _ => heading(column),
    }
}

fn methods<'a>(numbers: impl Iterator<Item = (&'a Matched, &'a Number)>) -> String {
    let found = numbers.filter_map(|(_, number)| number.comparison);
    let methods = distinct(found.map(|found| found.method.to_string()));
    match methods.as_slice() {
        [] => "without an interval".to_owned(),
        [one] => format!("the ratio of geometric means {one}"),
        several => format!("the ratio of geometric means {}", several.join("; or ")),
    }
}

fn differing(
    title: &str,
    caption: &str,
    both: &ResultComparison,
    differences: &[Difference],
) -> Option<Section> {
    let columns = Columns::<&Difference>::new()
        .key("scope", |difference| match difference.category {
            Category::Environment => "host",
            Category::Setup => "setup",
            Category::Setting => "server",
        })
        .key("name", |difference| &difference.name)
        .words(&*both.base, |difference| &difference.base)
        .words(&*both.new, |difference| &difference.new);
    let grid = columns.grid(caption, differences);
    (!differences.is_empty()).then(|| Section::new(title, vec![Block::Table(grid)]))
}

/// Most points side by side; more make another table.
const MOST_COLUMNS: usize = 8;

/// The metrics of the table.
const SHOWN: [&str; 2] = ["tps", "response_ms.mean"];

/// The keys of a point that are not the table's columns, with their values.
type Rest<'a> = &'a [(String, Option<Value>)];

/// A row: its name, its column, and what it shows of that.
type Line = (String, &'static str, fn(&Number) -> Content);

/// A table for each combination of the keys that are not its columns.
fn grids(both: &ResultComparison) -> Vec<Grid> {
    let points = both.points.iter();
    let groups = points.map(|point| (point.point.get(1..).unwrap_or_default(), point));
    let groups = grouped(groups);
    let grids = groups.iter().flat_map(|(rest, points)| {
        let blocks = points.chunks(MOST_COLUMNS);
        blocks.map(|block| grid(both, rest, block))
    });
    grids.collect()
}

fn grid(both: &ResultComparison, rest: Rest<'_>, points: &[&Matched]) -> Grid {
    let key = points.first().and_then(|point| point.point.first());
    let key = key.map_or("", |(key, _)| key.rsplit('.').next().unwrap_or(key));
    let mut rows: Vec<Line> = Vec::new();
    for column in SHOWN {
        let name = heading(column);
        let [base, new] = [&both.base, &both.new].map(|side| format!("{side} {}", head(column)));
        rows.push((base, column, |number| number.base.into()));
        rows.push((new, column, |number| number.new.into()));
        let change = format!("{name} change %");
        rows.push((change, column, |number| signed(number, 1.0)));
        if let Some(paper) = both.delta_as_in() {
            let name = format!("{name} delta % ({paper})");
            rows.push((name, column, |number| signed(number, -1.0)));
        }
    }
    let columns = Columns::<&Line>::new().key(key, |(name, ..)| name);
    let columns = columns.each(points, |columns, point| {
        let title = match point.point.first() {
            Some((_, value)) => keys::shown(value.as_ref()),
            None => "all".to_owned(),
        };
        columns.with(title, |(_, column, of)| {
            let mut numbers = point.numbers.iter();
            numbers.find(|number| number.column == *column).map(of)
        })
    });
    columns.grid(caption(both, key, rest), &rows)
}

fn caption(both: &ResultComparison, key: &str, rest: Rest<'_>) -> String {
    let rest = rest.iter();
    let rest = rest.map(|(key, value)| format!(", {key} = {}", keys::shown(value.as_ref())));
    let by = around("By ", key, &(rest.collect::<String>() + ". "));
    let delta = around(
        " Delta: the change with the opposite sign, as in \"",
        both.delta_as_in().unwrap_or_default(),
        "\", so that a loss is positive.",
    );
    format!(
        "{by}±: half width of the 95 % confidence interval. Change: {new} relative to {base}, \
         positive where {new} is higher.{delta}",
        base = both.base,
        new = both.new
    )
}

/// The change without its interval, which the next table has.
fn signed(number: &Number, sign: f64) -> Content {
    let value = number.change_pct().map(|change| sign * change.value);
    let interval = None;
    value.map(|value| Change { value, interval }).into()
}
