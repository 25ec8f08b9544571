//! The study's tables in the shape of a paper: a row for each value of a key, a
//! column for each number.

use measure::column::{self, OverRepeats, changed, over_repeats, unit};
use measure::metric::Metric;
use measure::result::{RunResult, Table};
use measure::summary::TrialSummary;
use plan::{Cluster, Value};

use crate::cell::{Cell, FEW, INTERVALS, PERCENTILES, SPREADS, no_interval};
use crate::grid::{Columns, Content, Grid, Head};
use crate::keys::{self, Group, VARIANT, others, trials_of};
use crate::list::{around, clause, distinct, joined};

#[derive(Debug)]
pub(crate) struct PaperTable {
    /// The keys that are the same in all of it, with their values.
    pub(crate) fixed: Vec<(String, String)>,
    /// The key of the rows, as in the study…
    pub(crate) row_key: String,
    pub(crate) row_name: String,
    /// The variants side by side; one without a name when there are none.
    pub(crate) groups: Vec<String>,
    /// The variant that changes are relative to; `None` without columns of changes.
    base: Option<String>,
    pub(crate) columns: Vec<Heading>,
    pub(crate) rows: Vec<PaperRow>,
    /// Why a mean of one trial may have no interval.
    no_interval: &'static str,
}

#[derive(Debug)]
pub(crate) struct PaperRow {
    pub(crate) value: String,
    pub(crate) cells: Vec<Vec<Cell>>,
    /// Who noticed failures, and where commits were acknowledged; empty without a cluster.
    conduct: [String; 2],
}

/// All tables of a study, one for each combination of the keys that are neither rows
/// nor variants.
pub(crate) fn tables(result: &RunResult) -> Vec<PaperTable> {
    let (trials, axes) = (trials_of(result), keys::axes(result));
    let tables = result.design.tables.iter();
    let tables = tables.flat_map(|table| of_design(table, &trials, &axes));
    tables.collect()
}

fn of_design(table: &Table, trials: &[&TrialSummary], axes: &[&str]) -> Vec<PaperTable> {
    if trials.is_empty() {
        return Vec::new();
    }
    let mut others = others(axes, &table.rows);
    others.retain(|key| *key != VARIANT);
    let variants = keys::values(trials, VARIANT);
    let base = variants.first().and_then(|name| name.as_ref()?.as_text());
    let groups = keys::groups(trials, &others, axes).into_iter();
    let tables = groups.map(|group| {
        let pairs = others.iter().zip(&group.values);
        let fixed = pairs.map(|(key, value)| {
            let name = keys::short(key, axes);
            (name.to_owned(), keys::shown(*value))
        });
        one_table(table, fixed.collect(), &group.trials, axes, base)
    });
    tables.collect()
}

fn one_table(
    table: &Table,
    fixed: Vec<(String, String)>,
    trials: &[&TrialSummary],
    axes: &[&str],
    base: Option<&str>,
) -> PaperTable {
    let row = table.rows.as_str();
    let across: &[&str] = match row != VARIANT && axes.contains(&VARIANT) {
        true => &[VARIANT],
        false => &[],
    };
    let groups = keys::groups(trials, across, axes);
    let shows_change = table.columns.iter().any(|name| changed(name).is_some());
    let base = base.filter(|_| shows_change);
    let values = keys::values(trials, row);
    // In each column: every variant but the base at each row, or every row but the base.
    let changes = match across {
        [] => values.len().saturating_sub(1),
        _ => values.len() * groups.len().saturating_sub(1),
    };
    let rows = values.into_iter().map(|value| {
        let is_in_row = |trial: &TrialSummary| row == VARIANT || keys::value(trial, row) == value;
        let mut of_base = trials.to_vec();
        of_base.retain(|trial| is_in_row(trial) && keys::variant(trial) == base);
        let cells = groups.iter().map(|group| {
            let having = keys::having(&group.trials, row, value);
            let columns = table.columns.iter();
            let cells = columns.map(|column| match changed(column) {
                Some(column) => Cell::change(&of_base, &having, column, changes),
                None => Cell::of(&having, column),
            });
            cells.collect()
        });
        PaperRow {
            value: keys::shown(value),
            conduct: conduct(&groups, row, value),
            cells: cells.collect(),
        }
    });
    PaperTable {
        fixed,
        row_key: row.to_owned(),
        row_name: keys::short(row, axes).to_owned(),
        columns: table.columns.iter().map(|name| Heading::of(name)).collect(),
        rows: rows.collect(),
        base: base.map(str::to_owned),
        groups: groups.into_iter().map(|group| group.name).collect(),
        no_interval: no_interval(trials.iter().copied()),
    }
}

/// How the clusters of a row's trials, of which faults hit a member, noticed and acknowledged: of each
/// variant, where they differ.
fn conduct(groups: &[Group<'_>], row: &str, value: Option<&Value>) -> [String; 2] {
    let of_groups = groups.iter().filter_map(|group| {
        let trials = keys::having(&group.trials, row, value);
        let topology = &trials.first()?.setup.planned.topology;
        let cluster = topology.cluster.as_ref();
        let cluster = cluster.filter(|_| !topology.faults.is_empty())?;
        Some((&group.name, cluster))
    });
    let of_groups: Vec<_> = of_groups.collect();
    let words = |word: fn(&Cluster) -> &String| {
        let named = of_groups.iter();
        let named = named.map(|(name, cluster)| (name, word(cluster)));
        match distinct(named.clone().map(|(_, word)| word)).as_slice() {
            [] => String::new(),
            [all] => (*all).clone(),
            _ => joined(named.map(|(name, word)| format!("{name}: {word}")), "; "),
        }
    };
    [
        words(|cluster| &cluster.detector),
        words(|cluster| &cluster.acknowledged),
    ]
}

impl PaperTable {
    /// The number of trials in each cell, if it is the same in all.
    fn n(&self) -> Option<usize> {
        let cells = self.rows.iter().flat_map(|row| row.cells.iter().flatten());
        match distinct(cells.map(|cell| cell.n).filter(|n| *n > 0)).as_slice() {
            [n] => Some(*n),
            _ => None,
        }
    }

    fn caption(&self) -> String {
        let fixed = self.fixed.iter();
        let of = fixed.map(|(key, value)| format!(", {key} = {value}"));
        let of: String = of.collect();
        let cells = match self.n() {
            Some(1) => "One trial per cell.".to_owned(),
            Some(n) => format!("Means over n = {n} trials."),
            None => "Means over the n trials of each point.".to_owned(),
        };
        let errors = self.errors();
        let is_percentile = |of: &Heading, cell: &Cell| {
            changed(&of.column).is_none() && cell.n == 1 && cell.range.is_some()
        };
        let is_spread = |of: &Heading, _: &Cell| over_repeats(&of.column) != OverRepeats::Mean;
        let parts = [
            clause(self.has(is_percentile), PERCENTILES),
            clause(self.has(is_of_few), FEW),
            clause(self.has(is_spread), SPREADS),
        ];
        let ranges: String = parts.map(|words| around(" ", words, "")).concat();
        let changes = self.base.as_ref().map_or(String::new(), |base| {
            let is_sure =
                |of: &Heading, cell: &Cell| changed(&of.column).is_some() && cell.range.is_some();
            let interval = "; the intervals over the blocks hold for all of a column at once (95 %, Bonferroni)";
            let interval = clause(self.has(is_sure), interval);
            format!(" Change: relative to {base}, as a ratio of geometric means{interval}.")
        });
        format!("By {}{of}. {cells}{errors}{ranges}{changes}", self.row_name)
    }

    fn has(&self, is_such: impl Fn(&Heading, &Cell) -> bool) -> bool {
        let rows = self.rows.iter().flat_map(|row| &row.cells);
        let mut cells = rows.flat_map(|cells| self.columns.iter().zip(cells));
        cells.any(|(column, cell)| is_such(column, cell))
    }

    /// What ± is where there is one, and why a mean of one trial has none.
    fn errors(&self) -> String {
        let with = |single: bool| {
            self.has(|_, cell| (cell.n == 1) == single && cell.half_width().is_some())
        };
        let from = match (with(false), with(true)) {
            (true, true) => "Student's t over the trials; for a single trial, from its seconds",
            (true, false) => "Student's t over the trials",
            (false, true) => "from the seconds within the trial",
            (false, false) => "",
        };
        let what = around(
            " ±: half width of the mean's 95 % confidence interval (",
            from,
            ").",
        );
        let lacks_one = self.has(|column, cell| {
            let may_have_one = INTERVALS.contains(&column.column.as_str());
            may_have_one && cell.n == 1 && cell.half_width().is_none()
        });
        what + &around(" ", clause(lacks_one, self.no_interval), "")
    }

    /// The table as it is shown; `n` is a column where it differs.
    pub(crate) fn grid(&self) -> Grid {
        let differs = self.n().is_none();
        let n = |cells: &[Cell]| cells.iter().map(|cell| cell.n).max().unwrap_or(0);
        let mut columns = Columns::<&PaperRow>::new().key(self.row_name.as_str(), |row| &row.value);
        for group in 0..self.groups.len() {
            for (place, heading) in self.columns.iter().enumerate() {
                columns = columns.with(heading.head.clone(), move |row| {
                    let cells = &row.cells[group];
                    let text = shown_cell(heading, &cells[place]);
                    match cells[place].n {
                        own if own == 0 || own == n(cells) => text,
                        // Not each of them measured this.
                        own => format!("{text} (n = {own})"),
                    }
                });
            }
            columns = columns.when(differs, |columns| {
                columns.with("n", move |row| n(&row.cells[group]))
            });
        }
        let has_conduct = self.rows.iter().any(|row| !row.conduct[0].is_empty());
        let columns = columns
            .words_if(has_conduct, "noticed by", |row| &row.conduct[0])
            .words_if(has_conduct, "acknowledged on", |row| &row.conduct[1]);
        let named = self.groups.iter().any(|group| !group.is_empty());
        let groups = self.groups.iter().filter(|_| named).cloned();
        Grid {
            groups: groups.collect(),
            ..columns.grid(self.caption(), &self.rows)
        }
    }
}

fn shown_cell(heading: &Heading, cell: &Cell) -> String {
    if changed(&heading.column).is_some() {
        return Content::from(cell.as_change()).to_string();
    }
    let unit = unit(&heading.column);
    let mut cell = cell.scaled(shown_in(unit).1);
    cell.range = cell.range.filter(|_| is_with_range(heading, &cell));
    // A tenth of a percent is enough.
    cell.shown_to(if unit == "%" { 1 } else { usize::MAX })
}

/// Of few trials, those of a metric would double the width of the table.
fn is_with_range(heading: &Heading, cell: &Cell) -> bool {
    !cell.has_few_trials() || Metric::find(&heading.column).is_none()
}

/// Whether a cell shows the minimum and maximum because there are few trials.
fn is_of_few(heading: &Heading, cell: &Cell) -> bool {
    let is_mean = over_repeats(&heading.column) == OverRepeats::Mean;
    let is_change = changed(&heading.column).is_some();
    is_mean && !is_change && cell.has_few_trials() && is_with_range(heading, cell)
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Heading {
    /// Its name in the study, for example `response_ms.p99`.
    pub(crate) column: String,
    pub(crate) head: Head,
}

/// The unit that people read, and how much of the measured one it is.
pub(crate) fn shown_in(unit: &'static str) -> (&'static str, f64) {
    match unit {
        "bytes" => ("MiB", f64::from(1 << 20)),
        other => (other, 1.0),
    }
}

impl Heading {
    pub(crate) fn of(column: &str) -> Self {
        // A number stays on a line with its unit.
        let of = changed(column).unwrap_or(column);
        let mut title = column::heading(of).replace(" %", "\u{a0}%");
        let (mut unit, _) = shown_in(unit(of));
        if changed(column).is_some() {
            title.push_str(" change");
            unit = "%";
        }
        let said = unit == "1/s" || title.ends_with(unit);
        Self {
            column: column.to_owned(),
            head: Head {
                unit: if said { "" } else { unit },
                title,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_is_said_once() {
        let text = |column| Heading::of(column).head.text();
        assert_eq!(text("tps"), "tps");
        assert_eq!(text("response_ms.mean"), "response mean, ms");
        assert_eq!(text("cpu.user"), "CPU user, %");
        assert_eq!(text("cpu.user.change_pct"), "CPU user change, %");
        assert_eq!(text("disk.read_mb_per_s"), "disk read MB/s");
        assert_eq!(text("server.rss_bytes"), "server memory, MiB");
    }

    #[test]
    fn bytes_are_shown_in_mebibytes() {
        let (unit, scale) = shown_in(unit("server.rss_bytes"));
        assert_eq!((unit, scale), ("MiB", f64::from(1 << 20)));
    }
}
