//! Two sides as they are shown.

use measure::compare::{Change, LEAST, NoVerdict};

use super::differences::{Category, Difference};
use super::points::Number;
use super::{ResultComparison, platforms, table, words};
use crate::answer::Answer;
use crate::csv_writer::Csv;
use crate::figures::{self, Figures};
use crate::grid::{Grid, heads};
use crate::list::distinct;
use crate::number;
use crate::sheet::{self, Block, Figure, Section, Sheet};
use crate::study::of_sweep;

impl Answer for ResultComparison {
    fn sheet(&self) -> Sheet {
        let mut blocks = blocks(self);
        blocks.extend(figures(self).into_iter().map(Block::Figure));
        let mut sections = vec![Section::new("", blocks)];
        sections.extend(differing(
            "Intended differences",
            "Settings that the study varies between the two.",
            self,
            &self.intended,
        ));
        let nothing = || {
            let words = "dyno recorded no other differences.".to_owned();
            Section::new(OTHERS, vec![Block::Words(words)])
        };
        sections.push(
            differing(
                OTHERS,
                "Any of these may also cause a difference in the results.",
                self,
                &self.others,
            )
            .unwrap_or_else(nothing),
        );
        Sheet {
            title: title(self),
            version: self.merged.environment.dyno_version.clone(),
            lead: words::lead(self),
            notices: sheet::cautions(&self.cautions).into_iter().collect(),
            sections,
            ..Sheet::default()
        }
    }

    fn csv(&self) -> String {
        let keys = self.points.first().map_or(&[][..], |point| &point.point);
        let mut csv = Csv::default();
        keys.iter().for_each(|(key, _)| csv.text(key));
        csv.names("column base base.half_width base.n new new.half_width new.n");
        csv.names("change_pct change_pct.low change_pct.high confidence p p_adjusted");
        csv.names("decision repeats_needed verdict");
        csv.end_line();
        for point in &self.points {
            for number in &point.numbers {
                for (_, value) in &point.point {
                    csv.value(value.as_ref());
                }
                line(&mut csv, number);
            }
        }
        csv.text
    }

    fn figures(&self) -> Option<Figures> {
        Some(Figures::of_two(&self.merged, self.names()))
    }
}

/// What differs without being intended.
const OTHERS: &str = "Other differences";

fn title(both: &ResultComparison) -> String {
    format!("{} against {}", both.new, both.base)
}

/// Two variants in the report of their study: the answer in words, too.
pub(super) fn answer(both: &ResultComparison) -> Section {
    let mut answer = vec![Block::Words(words::found(both))];
    answer.extend(blocks(both));
    Section::new(title(both), answer)
}

/// Several variants in the report of their study, each against the first.
pub(super) fn answers(all: &[ResultComparison]) -> Section {
    let base = all.first().map_or("", |both| both.base.as_str());
    let untested = words::untested(all);
    let mut words: Vec<String> = match untested {
        Some(reason) => vec![words::missing(reason)],
        None => all.iter().map(words::in_short).collect(),
    };
    words.extend(all.iter().filter_map(platforms::statement));
    words.push(format!(
        "To compare any two: dyno compare RESULT --base '{base}' --new NAME."
    ));
    let named = all.iter().any(is_named);
    let mut titles = vec!["name"];
    titles.extend(named.then_some("point"));
    titles.extend(["metric", base, "variant", "change %", "verdict"]);
    let rows = all.iter().flat_map(|both| {
        let rows = rows(both, named, untested).into_iter();
        rows.map(|row| [vec![both.new.clone()], row].concat())
    });
    let numbers = all.iter().flat_map(numbers);
    let grid = Grid {
        caption: format!(
            "Each metric. Change: the variant relative to {base}, {}.",
            methods(numbers)
        ),
        keys: 2 + usize::from(named),
        heads: heads(titles),
        rows: rows.collect(),
        note: rule(all),
        ..Grid::default()
    };
    let grid = with_verdicts(grid);
    let mut blocks: Vec<Block> = sheet::words(words).collect();
    blocks.push(Block::Table(grid));
    Section::new(format!("Variants against {base}"), blocks)
}

/// How alike the platforms are, both sides by point, and what each number shows.
fn blocks(both: &ResultComparison) -> Vec<Block> {
    let mut grids = table::grids(both);
    grids.push(verdicts(both));
    let platforms = platforms::statement(both).map(Block::Words).into_iter();
    platforms
        .chain(grids.into_iter().map(Block::Table))
        .collect()
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

fn verdicts(both: &ResultComparison) -> Grid {
    let named = is_named(both);
    let mut titles = Vec::new();
    titles.extend(named.then_some("point"));
    titles.extend(["metric", &both.base, &both.new, "change %", "verdict"]);
    let one = std::slice::from_ref(both);
    with_verdicts(Grid {
        caption: format!(
            "Each metric. Change: {} relative to {}, {}.",
            both.new,
            both.base,
            methods(numbers(both))
        ),
        keys: 1 + usize::from(named),
        heads: heads(titles),
        rows: rows(both, named, words::untested(one)),
        note: rule(one),
        ..Grid::default()
    })
}

/// Without its last column where that says nothing.
fn with_verdicts(mut grid: Grid) -> Grid {
    let verdict = grid.heads.len() - 1;
    if grid.rows.iter().all(|row| row[verdict].is_empty()) {
        grid.heads.truncate(verdict);
        grid.rows.iter_mut().for_each(|row| row.truncate(verdict));
    } else {
        grid.words = 1;
    }
    grid
}

/// Whether there are points to tell apart.
fn is_named(both: &ResultComparison) -> bool {
    both.points.iter().any(|point| !point.name.is_empty())
}

fn numbers(both: &ResultComparison) -> impl Iterator<Item = &Number> {
    both.points.iter().flat_map(|point| &point.numbers)
}

fn rows(both: &ResultComparison, named: bool, untested: Option<NoVerdict>) -> Vec<Vec<String>> {
    let rows = both.points.iter().flat_map(|point| {
        point.numbers.iter().map(move |number| {
            let mut row = Vec::new();
            row.extend(named.then(|| point.name.clone()));
            row.extend([
                head(number),
                number::estimate(number.base),
                number::estimate(number.new),
                number::change(shown_change(number), ""),
                words::cell(number, untested),
            ]);
            row
        })
    });
    rows.collect()
}

fn shown_change(number: &Number) -> Option<Change> {
    let found = number.comparison.as_ref().map(words::shown_change);
    found.or_else(|| number.change_pct())
}

fn head(number: &Number) -> String {
    let unit = measure::column::unit(number.column);
    let heading = measure::column::heading(number.column);
    match unit {
        "ms" => format!("{heading}, ms"),
        _ => heading,
    }
}

/// What the intervals rest on.
fn methods<'a>(numbers: impl Iterator<Item = &'a Number>) -> String {
    let found = numbers.filter_map(|number| number.comparison);
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
    let rows = differences.iter().map(|difference| {
        vec![
            match difference.category {
                Category::Environment => "host".to_owned(),
                Category::Setup => "setup".to_owned(),
                Category::Setting => "server".to_owned(),
            },
            difference.name.clone(),
            difference.base.clone(),
            difference.new.clone(),
        ]
    });
    let grid = || Grid {
        caption: caption.to_owned(),
        heads: heads(["scope", "name", &both.base, &both.new]),
        keys: 2,
        words: 2,
        rows: rows.collect(),
        ..Grid::default()
    };
    (!differences.is_empty()).then(|| Section::new(title, vec![Block::Table(grid())]))
}

fn figures(both: &ResultComparison) -> Vec<Figure> {
    let sweep = figures::sweep(&both.merged);
    let mut figures: Vec<Figure> = sweep
        .iter()
        .flat_map(|sweep| of_sweep("of both", sweep))
        .collect();
    figures.push(Figure {
        id: "curves",
        label: "Line chart of response time by percentile for both; the tables have the main \
                percentiles."
            .to_owned(),
        caption: "Response time by percentile, over all trials of each point. The axis gives each \
                  additional nine the same width, to show the tail."
            .to_owned(),
    });
    figures
}

fn line(csv: &mut Csv, number: &Number) {
    let found = number.comparison;
    let change = number.change_pct();
    let interval = change.and_then(|change| change.interval);
    csv.text(number.column);
    csv.estimate(number.base);
    csv.count(number.base_n);
    csv.estimate(number.new);
    csv.count(number.new_n);
    csv.number(change.map(|change| change.value));
    csv.number(interval.map(|range| range.low));
    csv.number(interval.map(|range| range.high));
    csv.number(interval.and(found.map(|found| found.confidence)));
    csv.number(found.and_then(|found| found.p));
    csv.number(found.and_then(|found| found.p_adjusted));
    csv.text(found.map_or("", |found| found.decision.code()));
    let needed = found.and_then(|found| found.decision.repeats_needed());
    csv.number(needed.map(f64::from));
    csv.text(&words::verdict(number));
    csv.end_line();
}
