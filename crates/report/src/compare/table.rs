//! Both sides and the change between them, a column for each point.

use measure::compare::Change;
use plan::Value;

use super::ResultComparison;
use super::points::{Matched, Number};
use crate::columns::Columns;
use crate::grid::{Content, Grid};
use crate::keys;

/// Most points side by side; more make another table.
const MOST_COLUMNS: usize = 8;

/// The metrics of the table: the column, its name, and its unit where the name does not have it.
const SHOWN: [(&str, &str, &str); 2] = [
    ("tps", "tps", ""),
    ("response_ms.mean", "response mean", ", ms"),
];

/// The keys of a point that are not the table's columns, with their values.
type Rest<'a> = &'a [(String, Option<Value>)];

/// A row: its name, its column, and what it shows of that.
type Row = (String, &'static str, fn(&Number) -> Content);

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
    let mut rows: Vec<Row> = Vec::new();
    for (column, name, unit) in SHOWN {
        rows.push((format!("{} {name}{unit}", both.base), column, |number| {
            number.base.into()
        }));
        rows.push((format!("{} {name}{unit}", both.new), column, |number| {
            number.new.into()
        }));
        rows.push((format!("{name} change %"), column, |number| {
            shown(number, 1.0)
        }));
        if let Some(paper) = both.delta_as_in() {
            let name = format!("{name} delta % ({paper})");
            rows.push((name, column, |number| shown(number, -1.0)));
        }
    }
    let columns =
        Columns::<&Row>::new()
            .key(key, |(name, ..)| name)
            .each(points, |columns, point| {
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

/// The change without its interval, which the next table has.
fn shown(number: &Number, sign: f64) -> Content {
    let change = number.change_pct().map(|change| Change {
        value: sign * change.value,
        interval: None,
    });
    change.into()
}
