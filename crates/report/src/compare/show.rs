//! Two sides as they are shown.

use measure::compare::Comparison;

use super::differences::{Difference, Of};
use super::points::Number;
use super::{SideBySide, table, words};
use crate::csv::Csv;
use crate::grid::{Grid, heads};
use crate::list::distinct;
use crate::number;
use crate::sheet::{Place, Section, Sheet};

pub(super) fn sheet(both: &SideBySide) -> Sheet {
    let mut sections = vec![Section {
        // The page has that title already.
        title: String::new(),
        figures: figures(both),
        ..section(both)
    }];
    sections.extend(differing(
        "What was meant to differ",
        "What the study sets differently for the two.",
        both,
        &both.meant,
    ));
    sections.extend(differing(
        "What else differs",
        "Any of this may be the reason for a difference, too.",
        both,
        &both.besides,
    ));
    if both.besides.is_empty() {
        sections.push(Section {
            title: "What else differs".to_owned(),
            words: vec!["Nothing that dyno looks at.".to_owned()],
            ..Section::default()
        });
    }
    Sheet {
        title: format!("{} against {}", both.new, both.base),
        lead: words::lead(both),
        cautions: both.cautions.clone(),
        sections,
    }
}

/// Two variants in the report of their study: the answer in words, too.
pub(super) fn answer(both: &SideBySide) -> Section {
    Section {
        words: vec![words::found(both)],
        ..section(both)
    }
}

/// Several variants in the report of their study, each against the first.
pub(super) fn answers(all: &[SideBySide]) -> Section {
    let base = all.first().map_or("", |both| both.base.as_str());
    let mut words: Vec<String> = all.iter().map(words::in_short).collect();
    words.push(format!(
        "To see two of them side by side: dyno compare RESULT --base '{base}' --new NAME."
    ));
    let named = all.iter().any(is_named);
    let mut titles = vec!["variant"];
    titles.extend(named.then_some("point"));
    titles.extend(["number", base, "the variant", "change %", "verdict"]);
    let rows = all.iter().flat_map(|both| {
        let rows = rows(both, named).into_iter();
        rows.map(|row| [vec![both.new.clone()], row].concat())
    });
    let numbers = all.iter().flat_map(numbers);
    Section {
        title: format!("The variants against {base}"),
        words,
        grids: vec![Grid {
            caption: format!(
                "What each number shows. Change is that of the variant as a share of {base}, {}. \
                 {TOGETHER}",
                methods(numbers)
            ),
            keys: 2 + usize::from(named),
            words: 1,
            heads: heads(titles),
            rows: rows.collect(),
            ..Grid::default()
        }],
        ..Section::default()
    }
}

/// The paper's table, and what each number shows.
fn section(both: &SideBySide) -> Section {
    let mut grids = table::grids(both);
    grids.push(verdicts(both));
    Section {
        title: format!("{} against {}", both.new, both.base),
        grids,
        ..Section::default()
    }
}

/// What the verdicts of a table are worth.
const TOGETHER: &str = "Verdicts hold for all of them together: of 20 such tables without any \
                        difference, at most 1 shows one (Holm's correction); differences below 2 % \
                        are not called any.";

fn verdicts(both: &SideBySide) -> Grid {
    let named = is_named(both);
    let mut titles = Vec::new();
    titles.extend(named.then_some("point"));
    titles.extend(["number", &both.base, &both.new, "change %", "verdict"]);
    Grid {
        caption: format!(
            "What each number shows. Change is that of {} as a share of {}, {}. {TOGETHER}",
            both.new,
            both.base,
            methods(numbers(both))
        ),
        keys: 1 + usize::from(named),
        words: 1,
        heads: heads(titles),
        rows: rows(both, named),
        ..Grid::default()
    }
}

/// Whether there are points to tell apart.
fn is_named(both: &SideBySide) -> bool {
    both.points.iter().any(|point| !point.name.is_empty())
}

fn numbers(both: &SideBySide) -> impl Iterator<Item = &Number> {
    both.points.iter().flat_map(|point| &point.numbers)
}

fn rows(both: &SideBySide, named: bool) -> Vec<Vec<String>> {
    let rows = both.points.iter().flat_map(|point| {
        point.numbers.iter().map(move |number| {
            let mut row = Vec::new();
            row.extend(named.then(|| point.name.clone()));
            row.extend([
                head(number),
                number::estimate(number.base),
                number::estimate(number.new),
                change(number),
                words::verdict(number),
            ]);
            row
        })
    });
    rows.collect()
}

fn head(number: &Number) -> String {
    let unit = measure::column::unit(number.column);
    let heading = measure::column::heading(number.column);
    match unit {
        "ms" => format!("{heading}, ms"),
        _ => heading,
    }
}

/// With its sign: `-4.69 ± 0.40`.
fn change(number: &Number) -> String {
    let change = number.change_pct();
    let shown = number::estimate_to(change, 2);
    match change {
        Some(change) if change.value > 0.0 => format!("+{shown}"),
        _ => shown,
    }
}

/// What the intervals rest on.
fn methods<'a>(numbers: impl Iterator<Item = &'a Number>) -> String {
    let found = numbers.filter_map(|number| number.comparison);
    let methods = distinct(found.map(|found| found.method.to_string()));
    match methods.as_slice() {
        [] => "without an interval".to_owned(),
        [one] => format!("with its 95 % interval {one}"),
        several => format!("with its 95 % interval, {}", several.join("; or ")),
    }
}

fn differing(
    title: &str,
    caption: &str,
    both: &SideBySide,
    differences: &[Difference],
) -> Option<Section> {
    let rows = differences.iter().map(|difference| {
        vec![
            match difference.of {
                Of::Environment => "host".to_owned(),
                Of::Setup => "set-up".to_owned(),
                Of::Setting => "server".to_owned(),
            },
            difference.name.clone(),
            difference.base.clone(),
            difference.new.clone(),
        ]
    });
    (!differences.is_empty()).then(|| Section {
        title: title.to_owned(),
        grids: vec![Grid {
            caption: caption.to_owned(),
            heads: heads(["of", "what", &both.base, &both.new]),
            keys: 2,
            words: 2,
            rows: rows.collect(),
            ..Grid::default()
        }],
        ..Section::default()
    })
}

fn figures(both: &SideBySide) -> Vec<Place> {
    let place = |id, what: &str, caption: &str| Place {
        id,
        label: format!("{what} of both sides; the values are in the tables."),
        caption: caption.to_owned(),
    };
    let mut places = vec![
        place(
            "sweep-tps",
            "Line chart of the throughput",
            "Throughput of both. Bars are 95 % confidence intervals.",
        ),
        place(
            "sweep-ms",
            "Line chart of the response time",
            "Response time of both, from the intended start of a transaction.",
        ),
    ];
    if both.has_cpu() {
        places.push(place(
            "sweep-cpu",
            "Stacked bars of the time of the host's CPUs",
            "How the host's CPUs spent their time.",
        ));
    }
    places.push(place(
        "curves",
        "Line chart of the response time by percentile",
        "Distributions of the response time, one over the other, each of all trials of its point \
         together. The axis gives each further nine the same room, so that the tail is seen.",
    ));
    places
}

pub(super) fn csv(both: &SideBySide) -> String {
    let keys = both.points.first().map_or(&[][..], |point| &point.point);
    let mut csv = Csv::default();
    for (key, _) in keys {
        csv.text(key);
    }
    for name in [
        "column",
        "base",
        "base.half_width",
        "base.n",
        "new",
        "new.half_width",
        "new.n",
        "change_pct",
        "change_pct.half_width",
        "p",
        "p_corrected",
        "repeats_needed",
        "verdict",
    ] {
        csv.text(name);
    }
    csv.end_line();
    for point in &both.points {
        for number in &point.numbers {
            for (_, value) in &point.point {
                csv.text(value);
            }
            line(&mut csv, number);
        }
    }
    csv.text
}

fn line(csv: &mut Csv, number: &Number) {
    let found = number.comparison;
    let of = |of: fn(Comparison) -> f64| found.map(of);
    csv.text(number.column);
    csv.estimate(number.base);
    csv.number(Some(number.base_n as f64));
    csv.estimate(number.new);
    csv.number(Some(number.new_n as f64));
    csv.estimate(number.change_pct());
    csv.number(of(|found| found.p));
    csv.number(of(|found| found.p_corrected));
    csv.number(of(|found| f64::from(found.repeats_needed)));
    csv.text(&words::verdict(number));
    csv.end_line();
}
