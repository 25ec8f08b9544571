//! What a database contains, dyno's mark on each table, and what to do about it.
//!
//! A mark is a row of the table `dyno_tables` in the same database.

use std::collections::HashMap;

use plan::Failure;
use workload::rows::Checksum;
use workload::schema::{Dialect, TableSpec, table_name};

use super::{Mode, Prepared, Progress, Wanted};
use crate::remote::{Rows, first_number};

pub(crate) const MARKER_TABLE: &str = "dyno_tables";

/// Creates the table of marks; valid for every engine.
pub(crate) const CREATE_MARKER: &str = "CREATE TABLE IF NOT EXISTS dyno_tables (\
     name VARCHAR(64) NOT NULL PRIMARY KEY, \
     state VARCHAR(16) NOT NULL, \
     spec VARCHAR(1000) NOT NULL, \
     row_count BIGINT NOT NULL, \
     checksum BIGINT NOT NULL)";

/// The query for count and checksum of all rows, which [`checksum_in`] reads.
pub(crate) const READ_CHECKSUMS: &str = "SELECT row_count, checksum FROM dyno_tables";

pub(crate) fn checksum_in(marks: Rows) -> Checksum {
    let mut all = Checksum::default();
    for mark in marks {
        if let [Some(count), Some(xor)] = mark.as_slice() {
            all.merge(Checksum {
                count: count.parse().unwrap_or_default(),
                xor: xor.parse().unwrap_or_default(),
            });
        }
    }
    all
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Loading,
    /// Has all rows and indexes, but the server's maintenance has not been done.
    Loaded,
    Ready,
}

impl State {
    const ALL: [Self; 3] = [Self::Loading, Self::Loaded, Self::Ready];

    const fn word(self) -> &'static str {
        match self {
            Self::Loading => "loading",
            Self::Loaded => "loaded",
            Self::Ready => "ready",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
struct Mark {
    spec: TableSpec,
    state: State,
}

/// Marks a table that has rows with this checksum.
pub(crate) fn mark(
    dialect: &Dialect,
    spec: &TableSpec,
    table: u32,
    state: State,
    Checksum { count, xor }: Checksum,
) -> String {
    let state = state.word();
    // JSON has single quotes only within strings.
    let spec = serde_json::to_string(spec)
        .unwrap_or_default()
        .replace('\'', "''");
    let name = table_name(table);
    let row = format!("{MARKER_TABLE} VALUES ('{name}', '{state}', '{spec}', {count}, {xor})");
    if !dialect.has_on_conflict {
        return format!("REPLACE INTO {row}");
    }
    format!(
        "INSERT INTO {row} ON CONFLICT (name) DO UPDATE SET state = excluded.state, \
         spec = excluded.spec, row_count = excluded.row_count, checksum = excluded.checksum"
    )
}

/// Marks a table that is marked as loaded as ready.
pub(crate) fn mark_ready(table: u32) -> String {
    let (ready, name) = (State::Ready.word(), table_name(table));
    format!("UPDATE {MARKER_TABLE} SET state = '{ready}' WHERE name = '{name}'")
}

impl Mark {
    /// Parses the columns `state` and `spec`. An unreadable mark counts as an interrupted load.
    fn parse(state: &str, spec: &str, wanted: &TableSpec) -> Self {
        let known = State::ALL.into_iter().find(|known| known.word() == state);
        match serde_json::from_str(spec).ok().zip(known) {
            Some((spec, state)) => Self { spec, state },
            None => Self {
                spec: wanted.clone(),
                state: State::Loading,
            },
        }
    }
}

/// What exists under the name of a table.
#[derive(Debug, Clone, PartialEq)]
struct Found {
    columns: Vec<String>,
    /// The highest ID; `None` for an empty table.
    highest_id: Option<u64>,
    mark: Option<Mark>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Action {
    Keep,
    Settle,
    Build,
}

/// With what the user should know about it.
type Decision = (Action, Option<String>);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Todo {
    /// Numbers of the tables to build.
    pub(crate) missing: Vec<u32>,
    /// Numbers of the tables to keep that are loaded but not settled.
    pub(crate) unsettled: Vec<u32>,
    /// The result when everything is done.
    pub(crate) prepared: Prepared,
}

/// Decides about all tables; reports what the user should know. `ask` executes a query, and
/// `list_columns` lists table and column names in order.
pub(crate) fn plan(
    wanted: &Wanted<'_>,
    spec: &TableSpec,
    dialect: &Dialect,
    list_columns: &str,
    ask: &mut dyn FnMut(&str) -> Result<Rows, Failure>,
    tell: &mut dyn FnMut(Progress),
) -> Result<Todo, Failure> {
    let tables = wanted.workload.tables(wanted.options, wanted.users);
    let (mut missing, mut unsettled) = (Vec::new(), Vec::new());
    for (table, found) in (1..).zip(inspect(tables, spec, list_columns, ask)?) {
        let (action, note) = match found {
            Some(found) => decide(&found, table, spec, dialect, wanted.mode)?,
            None => (Action::Build, None),
        };
        note.into_iter().for_each(|note| tell(Progress::Note(note)));
        match action {
            Action::Keep => {}
            Action::Settle => unsettled.push(table),
            Action::Build => missing.push(table),
        }
    }
    let loaded = missing.len() as u32;
    let prepared = Prepared {
        found: tables - loaded,
        loaded,
        rows: spec.rows * u64::from(loaded),
        is_of_script: false,
    };
    Ok(Todo {
        missing,
        unsettled,
        prepared,
    })
}

fn inspect(
    tables: u32,
    spec: &TableSpec,
    list_columns: &str,
    ask: &mut dyn FnMut(&str) -> Result<Rows, Failure>,
) -> Result<Vec<Option<Found>>, Failure> {
    let mut columns: HashMap<String, Vec<String>> = HashMap::new();
    for row in ask(list_columns)? {
        if let [Some(table), Some(column)] = row.as_slice() {
            let known = columns.entry(table.clone()).or_default();
            known.push(column.clone());
        }
    }
    let mut marks = HashMap::new();
    if columns.contains_key(MARKER_TABLE) {
        for row in ask(&format!("SELECT name, state, spec FROM {MARKER_TABLE}"))? {
            if let [Some(name), Some(state), Some(text)] = row.as_slice() {
                marks.insert(name.clone(), Mark::parse(state, text, spec));
            }
        }
    }
    let mut found = |name: String| {
        let Some(columns) = columns.remove(&name) else {
            return Ok(None);
        };
        let highest_id = match columns.iter().any(|column| column == "id") {
            true => first_number(ask(&format!("SELECT MAX(id) FROM {name}"))?),
            false => None,
        };
        Ok(Some(Found {
            columns,
            highest_id,
            mark: marks.remove(&name),
        }))
    };
    (1..=tables).map(|table| found(table_name(table))).collect()
}

/// Decides about table number `table`. A table with other columns is never dropped.
fn decide(
    found: &Found,
    table: u32,
    wanted: &TableSpec,
    dialect: &Dialect,
    mode: Mode,
) -> Result<Decision, Failure> {
    let name = table_name(table);
    check_columns(&name, &found.columns, wanted)?;
    let begins_empty = wanted.rows == 0;
    if mode == Mode::Always || (begins_empty && found.mark.is_some()) {
        return Ok((Action::Build, None));
    }
    if begins_empty {
        return Err(foreign_table(&name));
    }
    match &found.mark {
        Some(mark) if mark.state == State::Loading => {
            let note = format!("{name}: its load was interrupted; it is rebuilt");
            Ok((Action::Build, Some(note)))
        }
        Some(_) if found.highest_id.is_none() => {
            let note = format!("{name} was emptied; it is rebuilt");
            Ok((Action::Build, Some(note)))
        }
        Some(mark) => keep_ours(&name, mark, wanted, dialect),
        None => keep_foreign(&name, found.highest_id.unwrap_or(0), wanted.rows),
    }
}

/// A workload that starts with empty tables would drop a table that someone may need.
fn foreign_table(name: &str) -> Failure {
    Failure::usage(format!(
        "the table {name} was not created by dyno, and the workload would have to drop it"
    ))
    .remedy("use another database, or --prepare always to drop it")
}

fn check_columns(name: &str, columns: &[String], wanted: &TableSpec) -> Result<(), Failure> {
    let expected = wanted.columns();
    let found = columns.iter().map(|column| column.to_lowercase());
    if found.eq(expected.iter().copied()) {
        return Ok(());
    }
    let message = format!(
        "the table {name} has the columns ({}), but the load needs ({})",
        columns.join(", "),
        expected.join(", ")
    );
    let remedy = format!("drop {name} if it is not needed, or use another database");
    Err(Failure::usage(message).remedy(remedy))
}

fn keep_ours(
    name: &str,
    mark: &Mark,
    wanted: &TableSpec,
    dialect: &Dialect,
) -> Result<Decision, Failure> {
    if mark.spec.has_form_of(wanted, dialect) {
        let note = (!mark.spec.has_rows_of(wanted)).then(|| {
            format!(
                "{name} was loaded with seed {}; its rows are used as is",
                mark.spec.seed
            )
        });
        let action = match mark.state {
            State::Loaded => Action::Settle,
            State::Loading | State::Ready => Action::Keep,
        };
        return Ok((action, note));
    }
    let message = format!(
        "the table {name} was loaded with {}, but the load needs {}",
        mark.spec.describe(dialect),
        wanted.describe(dialect)
    );
    Err(Failure::usage(message).remedy("use the same options, or --prepare always to rebuild it"))
}

/// A table that another program loaded: sysbench, or a restored dump.
fn keep_foreign(name: &str, highest_id: u64, needed_rows: u64) -> Result<Decision, Failure> {
    if highest_id < needed_rows {
        let message = format!(
            "the table {name} ends at id {highest_id}, but the load needs {needed_rows} rows"
        );
        let rows = highest_id.max(1);
        let remedy = format!("use --rows {rows}, or --prepare always to rebuild it");
        return Err(Failure::usage(message).remedy(remedy));
    }
    let note = format!("{name} was not loaded by dyno (ids up to {highest_id}); it is used as is");
    Ok((Action::Keep, Some(note)))
}

#[cfg(test)]
mod tests {
    use workload::name::WorkloadName;
    use workload::options::Options;

    use super::*;

    fn spec(rows: u64, seed: u64) -> TableSpec {
        let mut options = Options::default();
        options.data.rows = rows;
        WorkloadName::OltpReadWrite.table_spec(&options, seed)
    }

    fn table(highest_id: u64, mark: Option<(TableSpec, State)>) -> Found {
        Found {
            columns: ["id", "k", "c", "pad"].map(str::to_owned).to_vec(),
            highest_id: Some(highest_id),
            mark: mark.map(|(spec, state)| Mark { spec, state }),
        }
    }

    fn decided(found: &Found, mode: Mode) -> Result<Decision, String> {
        let decided = decide(found, 1, &spec(100, 1), &Dialect::STANDARD, mode);
        decided.map_err(|error| error.to_string())
    }

    #[test]
    fn a_table_that_was_emptied_is_rebuilt() {
        let mut emptied = table(0, Some((spec(100, 1), State::Ready)));
        emptied.highest_id = None;
        let action = decided(&emptied, Mode::Missing);
        assert!(matches!(action, Ok((Action::Build, Some(_)))));
    }

    #[test]
    fn a_load_that_was_interrupted_after_its_last_row_is_only_settled() {
        let action_for = |state| {
            let found = table(100, Some((spec(100, 1), state)));
            decided(&found, Mode::Missing).unwrap().0
        };
        let expected = [Action::Build, Action::Settle, Action::Keep];
        assert_eq!(State::ALL.map(action_for), expected);
    }

    #[test]
    fn another_size_is_an_error_with_both_sizes() {
        let other = table(50, Some((spec(50, 1), State::Ready)));
        let message = decided(&other, Mode::Missing).unwrap_err();
        let has_both = message.contains("50 rows") && message.contains("100 rows");
        assert!(has_both, "{message}");
        assert!(decided(&table(99, None), Mode::Missing).is_err());
        assert!(matches!(
            decided(&table(100, None), Mode::Missing),
            Ok((Action::Keep, Some(_)))
        ));
    }

    #[test]
    fn a_bulk_table_is_dropped_only_if_it_is_dynos_or_the_user_says_so() {
        let spec = WorkloadName::BulkInsert.table_spec(&Options::default(), 1);
        let mut found = Found {
            columns: ["id", "k"].map(str::to_owned).to_vec(),
            highest_id: Some(5),
            mark: None,
        };
        let build = Ok((Action::Build, None));
        let decided = |found: &Found, mode| {
            let decided = decide(found, 1, &spec, &Dialect::STANDARD, mode);
            decided.map_err(|error| error.to_string())
        };
        let refused = decided(&found, Mode::Missing).unwrap_err();
        assert!(refused.contains("was not created by dyno"), "{refused}");
        assert_eq!(decided(&found, Mode::Always), build);
        found.mark = Some(Mark {
            spec: spec.clone(),
            state: State::Ready,
        });
        assert_eq!(decided(&found, Mode::Missing), build);
    }
}
