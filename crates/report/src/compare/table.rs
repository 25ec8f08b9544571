//! Both sides and the change between them, a column for each point.

use measure::compare::Change;
use plan::Value;

use super::ResultComparison;
use super::points::{Matched, Number};
use crate::grid::{Grid, heads};
use crate::keys;
use crate::number;

/// Most points side by side; more make another table.
const MOST_COLUMNS: usize = 8;

/// The metrics of the table: the column, its name, and its unit where the name does not have it.
const SHOWN: [(&str, &str, &str); 2] = [
    ("tps", "tps", ""),
    ("response_ms.mean", "response mean", ", ms"),
];

/// The keys of a point that are not the table's columns, with their values.
type Rest<'a> = &'a [(String, Option<Value>)];

/// A table for each combination of the keys that are not its columns.
pub(super) fn grids(both: &ResultComparison) -> Vec<Grid> {
    let mut groups: Vec<(Rest<'_>, Vec<&Matched>)> = Vec::new();
    for point in &both.points {
        let rest = point.point.get(1..).unwrap_or_default();
        match groups.iter_mut().find(|(known, _)| *known == rest) {
            Some((_, points)) => points.push(point),
            None => groups.push((rest, vec![point])),
        }
    }
    let grids = groups.iter().flat_map(|(rest, points)| {
        let blocks = points.chunks(MOST_COLUMNS);
        blocks.map(|block| grid(both, rest, block))
    });
    grids.collect()
}

fn grid(both: &ResultComparison, rest: Rest<'_>, points: &[&Matched]) -> Grid {
    let key = points.first().and_then(|point| point.point.first());
    let key = key.map_or("", |(key, _)| key.rsplit('.').next().unwrap_or(key));
    let mut titles = vec![key.to_owned()];
    titles.extend(points.iter().map(|point| match point.point.first() {
        Some((_, value)) => keys::shown(value.as_ref()),
        None => "all".to_owned(),
    }));
    let mut rows = Vec::new();
    for (column, name, unit) in SHOWN {
        let row = |name: String, of: &dyn Fn(&Number) -> String| {
            let cells = points.iter().map(|point| {
                let number = point.numbers.iter().find(|number| number.column == column);
                number.map_or(number::ABSENT.to_owned(), of)
            });
            [vec![name], cells.collect()].concat()
        };
        rows.push(row(format!("{} {name}{unit}", both.base), &|number| {
            number::estimate(number.base)
        }));
        rows.push(row(format!("{} {name}{unit}", both.new), &|number| {
            number::estimate(number.new)
        }));
        rows.push(row(format!("{name} change %"), &|number| {
            shown(number.change_pct(), 1.0)
        }));
        if let Some(paper) = both.delta_as_in() {
            rows.push(row(format!("{name} delta % ({paper})"), &|number| {
                shown(number.change_pct(), -1.0)
            }));
        }
    }
    Grid {
        caption: caption(both, key, rest),
        heads: heads(titles),
        keys: 1,
        rows,
        ..Grid::default()
    }
}

fn caption(both: &ResultComparison, key: &str, rest: Rest<'_>) -> String {
    let rest = rest
        .iter()
        .map(|(key, value)| format!(", {key} = {}", keys::shown(value.as_ref())));
    let by = match key {
        "" => String::new(),
        key => format!("By {key}{}. ", rest.collect::<String>()),
    };
    let mut caption = format!(
        "{by}±: half width of the 95 % confidence interval. Change: {new} relative to {base}, \
         positive where {new} is higher.",
        base = both.base,
        new = both.new
    );
    if let Some(paper) = both.delta_as_in() {
        caption.push_str(&format!(
            " Delta: the change with the opposite sign, as in \"{paper}\", so that a loss is positive."
        ));
    }
    caption
}

/// Without its interval, which the next table has.
fn shown(change: Option<Change>, sign: f64) -> String {
    let change = change.map(|change| Change {
        value: sign * change.value,
        interval: None,
    });
    number::change(change, "")
}
