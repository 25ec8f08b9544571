//! What a study wants in its report: `report.tables`, and the conditions of `[thresholds]`.

use toml::de::{DeArray, DeTable, DeValue};

use super::{TomlValue, Walk};
use crate::error::Report;
use crate::name::Name;
use crate::read::TABLES_EXAMPLE;
use crate::syntax::type_words;
use plan::key::{BASELINE, Key, word};
use plan::{Origin, Span, Spanned, TableSpec, ThresholdSpec, did_you_mean, shown};

const MAX_TABLES: usize = 20;
const MAX_COLUMNS: usize = 30;
/// More than any study needs.
const MAX_THRESHOLDS: usize = 50;
const MAX_COLUMN_BYTES: usize = 100;
const THRESHOLD_EXAMPLE: &str = "write a comparison in quotes: \"response_ms.p99\" = \"< 25\"";

static ROWS: Key = word("report.tables.rows", 200);
static COLUMNS: Key = word("report.tables.columns", 200);
static BASELINE_NAME: Key = word("thresholds.baseline", 60);
static CONDITION: Key = word("thresholds", 100);

impl Walk {
    pub(super) fn tables(&mut self, list: &DeArray<'_>, origin: Origin) {
        for (i, typed) in list.iter().enumerate() {
            let at = Span::new(origin, typed.span());
            match typed.get_ref() {
                _ if i == MAX_TABLES => {
                    let message = format!("too many tables in the report: {}", list.len());
                    let help = format!("a report has at most {MAX_TABLES} tables");
                    return self.refuse(at, message, help);
                }
                DeValue::Table(table) => self.table(table, at),
                other => {
                    let message = format!("a table of the report is not {}", type_words(other));
                    self.refuse(at, message, TABLES_EXAMPLE);
                }
            }
        }
    }

    fn table(&mut self, table: &DeTable<'_>, at: Span) {
        let (mut rows, mut columns) = (None, None);
        for (typed, value) in table.iter() {
            let place = Span::new(at.origin, typed.span());
            match typed.get_ref().as_ref() {
                "rows" => rows = Some(self.typed::<String>(&ROWS, value, at.origin)),
                "columns" => columns = Some(self.columns(value, at.origin)),
                other => self.unknown("key", other, place, || known(other)),
            }
        }
        for (name, is_given) in [("rows", rows.is_some()), ("columns", columns.is_some())] {
            if !is_given {
                let message = format!("this table has no `{name}`");
                self.refuse(at, message, TABLES_EXAMPLE);
            }
        }
        if let (Some(Some(mut rows)), Some(columns)) = (rows, columns) {
            if let Ok(Some(name)) = Name::find(&rows) {
                rows.value = name.full().to_owned();
            }
            self.content.tables.push(TableSpec { rows, columns });
        }
    }

    fn columns(&mut self, value: &TomlValue<'_>, origin: Origin) -> Vec<Spanned<String>> {
        let has = |count| format!("`columns` has {count} columns");
        let help =
            format!("write 1 to {MAX_COLUMNS} columns: columns = [\"tps\", \"response_ms.p99\"]");
        let is = "`columns` takes a list";
        let Some(list) = self.list(value, origin, MAX_COLUMNS, is, has, &help) else {
            return Vec::new();
        };
        let mut columns: Vec<Spanned<String>> = Vec::new();
        for typed in list.iter() {
            let Some(column) = self.typed::<String>(&COLUMNS, typed, origin) else {
                continue;
            };
            if let Some(first) = columns.iter().find(|c| c.value == column.value) {
                let message = format!("duplicate column `{}`", shown(&column));
                let help = "remove one of the two";
                self.refuse_two(first.span, column.span, message, help);
            }
            columns.push(column);
        }
        columns
    }

    /// Sets the baseline, or a threshold; an override replaces one of the same column.
    pub(super) fn threshold(&mut self, column: &str, value: &TomlValue<'_>, at: Span) {
        if column == BASELINE {
            self.content.baseline = self.typed::<String>(&BASELINE_NAME, value, at.origin);
            return;
        }
        let mut known = self.content.thresholds.iter().map(|known| &known.column);
        let first = known.find(|known| known.value == column && known.span.origin == at.origin);
        if let Some(first) = first.map(|first| first.span) {
            let message = format!("duplicate threshold of `{}`", shown(column));
            return self.refuse_two(first, at, message, "keep one of the two");
        }
        if !value.get_ref().is_str() {
            let found = type_words(value.get_ref());
            let message = format!("the threshold of `{}` is {found}", shown(column));
            return self.refuse(at, message, THRESHOLD_EXAMPLE);
        }
        let Some(condition) = self.typed::<String>(&CONDITION, value, at.origin) else {
            return;
        };
        if column.len() > MAX_COLUMN_BYTES {
            let message = format!("the name `{}` is too long", shown(column));
            let help = "a threshold applies to a column of report tables, such as response_ms.p99";
            return self.refuse(at, message, help);
        }
        let thresholds = &mut self.content.thresholds;
        thresholds.retain(|other| other.column.value != column);
        if thresholds.len() == MAX_THRESHOLDS {
            let message = format!("too many thresholds: `{}`", shown(column));
            let help = format!("a study has at most {MAX_THRESHOLDS} thresholds");
            return self.refuse(at, message, help);
        }
        let column = Spanned::new(column.to_owned(), at);
        thresholds.push(ThresholdSpec { column, condition });
    }
}

fn known(name: &str) -> String {
    did_you_mean(name, ["rows", "columns"])
        .unwrap_or_else(|| "a table has `rows` and `columns`".into())
}
