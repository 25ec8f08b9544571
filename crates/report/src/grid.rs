//! Tables in the simplest form that all kinds of report can write: their columns, and the grid of
//! cells that these make of rows. Numbers stay numbers until a writer shows them.

use std::borrow::Cow;
use std::fmt;

use measure::compare::Change;
use measure::interval::Estimate;
use measure::quantile::Range;
use measure::recovery::Observation;
use plan::Value;

use crate::cell::Cell;
use crate::characters::{steers, visible};
use crate::number;

#[derive(Debug, Default)]
pub(crate) struct Grid {
    pub(crate) caption: String,
    /// Heads over equal shares of the numbers; none when there is nothing to tell apart.
    pub(crate) groups: Vec<String>,
    pub(crate) heads: Vec<Head>,
    /// Columns at the start that say what the row is.
    pub(crate) keys: usize,
    /// Columns at the end that hold running text.
    pub(crate) words: usize,
    /// Whether the first cell leads to the trial at the row's place.
    pub(crate) links: bool,
    pub(crate) rows: Vec<Vec<Content>>,
    /// A footnote: how its words are reached.
    pub(crate) note: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) title: String,
    /// Empty when there is none, or the title says it.
    pub(crate) unit: &'static str,
}

impl Head {
    /// In one piece: `response 99 %, ms`.
    pub(crate) fn text(&self) -> String {
        match self.unit {
            "" => self.title.clone(),
            unit => format!("{}, {unit}", self.title),
        }
    }
}

impl<T: Into<String>> From<T> for Head {
    fn from(title: T) -> Self {
        Self {
            title: title.into(),
            unit: "",
        }
    }
}

/// Columns that say what a row comes to.
const VERDICTS: [&str; 3] = ["verdict", "ended", "errors"];

impl Grid {
    /// How many columns stand under each head of a group.
    pub(crate) fn span(&self) -> usize {
        (self.heads.len() - self.keys - self.words) / self.groups.len().max(1)
    }

    /// Whether a column begins at its left: running text, and what rows are called.
    pub(crate) fn is_left(&self, column: &usize) -> bool {
        let is_text = |row: &Vec<Content>| {
            let content = row.get(*column);
            matches!(content, Some(Content::Text(text)) if text.starts_with(char::is_alphabetic))
        };
        self.is_words(column) || (*column < self.keys && self.rows.iter().any(is_text))
    }

    /// Whether a column is at the end, among the running text.
    pub(crate) fn is_words(&self, column: &usize) -> bool {
        *column + self.words >= self.heads.len()
    }

    /// The style of a column's cells: where its text begins, and whether it is a verdict,
    /// which is in sight on a screen of any width.
    pub(crate) fn class(&self, column: &usize) -> &'static str {
        let head = self.heads.get(*column);
        let is_verdict = head.is_some_and(|head| VERDICTS.contains(&head.title.as_str()));
        match (self.is_left(column), is_verdict) {
            (true, true) => "words verdict",
            (false, true) => "verdict",
            (true, false) => "words",
            (false, false) => "",
        }
    }

    /// The heads in one line: a group stands before each of its columns.
    pub(crate) fn flat_heads(&self) -> Vec<String> {
        let heads = self.heads.iter().enumerate().map(|(place, head)| {
            let under = place.checked_sub(self.keys);
            let group = under.and_then(|place| self.groups.get(place / self.span().max(1)));
            group.map_or_else(|| head.text(), |group| format!("{group}: {}", head.text()))
        });
        heads.collect()
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Absent,
    Text(String),
    Count(u64),
    Estimate(Estimate),
    /// A percentile, and where it lies with 95 % confidence.
    Within(f64, Option<Range>),
    Change(Change),
    Observation(Observation),
    Cell(Cell),
}

/// As people read it; a CSV file has it unrounded.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&match self {
            Self::Absent => number::ABSENT.to_owned(),
            Self::Text(text) => return f.write_str(text),
            Self::Count(count) => number::count(*count),
            Self::Estimate(estimate) => number::estimate(Some(*estimate)),
            Self::Within(value, range) => number::within(*value, *range),
            Self::Change(change) => number::change(*change, ""),
            Self::Observation(one) => number::observation(*one),
            Self::Cell(cell) => cell.shown(),
        })
    }
}

impl Content {
    pub(crate) fn value(&self) -> Option<f64> {
        let value = match self {
            Self::Absent | Self::Text(_) | Self::Count(_) => return None,
            Self::Within(value, _) => *value,
            Self::Estimate(estimate) => estimate.value,
            Self::Change(change) => change.value,
            Self::Observation(one) => one.bound(),
            Self::Cell(cell) => cell.value()?,
        };
        Some(value).filter(|value| value.is_finite())
    }
}

impl<T: Into<Self>> From<Option<T>> for Content {
    fn from(known: Option<T>) -> Self {
        known.map_or(Self::Absent, Into::into)
    }
}

macro_rules! content {
    ($($from:ty => $to:expr),+ $(,)?) => {
        $(impl From<$from> for Content {
            fn from(from: $from) -> Self {
                let to: fn($from) -> Self = $to;
                to(from)
            }
        })+
    };
}

content! {
    &str => |text| Self::Text(text.to_owned()),
    &String => |text| Self::Text(text.clone()),
    String => Self::Text,
    &Value => |value| Self::Text(value.to_string()),
    bool => |holds| Self::Text(holds.to_string()),
    u32 => |count| Self::Count(count.into()),
    u64 => Self::Count,
    usize => |count| Self::Count(count as u64),
    f64 => |value| Self::Estimate(Estimate::exact(value)),
    (f64, Option<Range>) => |(value, range)| Self::Within(value, range),
    Estimate => Self::Estimate,
    Change => Self::Change,
    Observation => Self::Observation,
    Cell => Self::Cell,
}

/// The columns of a table with rows of `R`, usually a reference.
pub(crate) struct Columns<'a, R> {
    /// The grid, still without rows.
    grid: Grid,
    cells: Vec<Box<dyn Fn(R) -> Content + 'a>>,
}

impl<'a, R: Copy + 'a> Columns<'a, R> {
    pub(crate) fn new() -> Self {
        Self {
            grid: Grid::default(),
            cells: Vec::new(),
        }
    }

    pub(crate) fn with<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.grid.heads.push(head.into());
        self.cells.push(Box::new(move |row| cell(row).into()));
        self
    }

    /// A column at the start that says what the row is.
    pub(crate) fn key<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.grid.keys += 1;
        self.with(head, cell)
    }

    /// A column at the end that holds running text.
    pub(crate) fn words<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.grid.words += 1;
        self.with(head, cell)
    }

    /// A column of running text that only some tables have.
    pub(crate) fn words_if<C: Into<Content>>(
        self,
        holds: bool,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        if holds { self.words(head, cell) } else { self }
    }

    /// Columns that only some tables have.
    pub(crate) fn when(self, holds: bool, add: impl FnOnce(Self) -> Self) -> Self {
        if holds { add(self) } else { self }
    }

    pub(crate) fn each<T>(
        self,
        all: impl IntoIterator<Item = T>,
        add: impl Fn(Self, T) -> Self,
    ) -> Self {
        all.into_iter().fold(self, add)
    }

    /// In CSV, a value and half of its interval.
    pub(crate) fn estimate(
        self,
        name: &str,
        of: impl Fn(R) -> Option<Estimate> + Copy + 'a,
    ) -> Self {
        self.with(name, move |row| Some(of(row)?.value))
            .with(format!("{name}.half_width"), move |row| of(row)?.half_width)
    }

    /// In CSV, a value, half of its interval, and where it lies.
    pub(crate) fn cell(self, name: &str, of: impl Fn(R) -> Cell + Copy + 'a) -> Self {
        self.estimate(name, move |row| of(row).estimate)
            .with(format!("{name}.low"), move |row| Some(of(row).range?.low))
            .with(format!("{name}.high"), move |row| Some(of(row).range?.high))
    }

    pub(crate) fn grid(
        self,
        caption: impl Into<String>,
        rows: impl IntoIterator<Item = R>,
    ) -> Grid {
        Grid {
            caption: caption.into(),
            rows: rows.into_iter().map(|row| self.row(row)).collect(),
            ..self.grid
        }
    }

    /// For spreadsheets and programs (RFC 4180): no number is rounded, and what was not measured is
    /// empty.
    pub(crate) fn csv(self, rows: impl IntoIterator<Item = R>) -> String {
        let heads = self.grid.heads.iter();
        let names = heads.map(|head| Content::from(&head.title));
        let rows = rows.into_iter().map(|row| self.row(row));
        let lines = [names.collect()].into_iter().chain(rows);
        lines.map(|cells: Vec<Content>| line(&cells)).collect()
    }

    fn row(&self, row: R) -> Vec<Content> {
        self.cells.iter().map(|cell| cell(row)).collect()
    }
}

fn line(cells: &[Content]) -> String {
    let fields = cells.iter().map(|content| match content {
        Content::Text(text) => quoted(&plain(text)),
        Content::Count(count) => count.to_string(),
        number => number.value().map_or_else(String::new, |n| n.to_string()),
    });
    fields.collect::<Vec<_>>().join(",") + "\r\n"
}

/// A number as a text, such as the value of a key, stays one; what a spreadsheet would take for a
/// formula starts with an apostrophe. What steers a terminal is made visible; ends of lines stay, in
/// quotes.
fn plain(text: &str) -> Cow<'_, str> {
    let steered = text.contains(|c| steers(c) && c != '\r' && c != '\n' && c != '\t');
    let text = match steered {
        true => visible(text),
        false => Cow::Borrowed(text),
    };
    let formula = text.starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let number = text.parse().is_ok_and(f64::is_finite);
    match formula && !number {
        true => format!("'{text}").into(),
        false => text,
    }
}

fn quoted(field: &str) -> String {
    match field.contains([',', '"', '\r', '\n']) {
        true => format!("\"{}\"", field.replace('"', "\"\"")),
        false => field.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_never_a_formula_and_never_ends_its_field() {
        #[rustfmt::skip]
        let texts = ["=1+1", "@SUM(A1)", "-2", "-x", "+4.5", "a,\"b\"\r\n", "plain", "", "\u{1b}[2J"];
        let mut cells: Vec<Content> = texts.map(Content::from).to_vec();
        cells.extend([Content::from(-0.5_f64), Content::Absent]);
        let fields = "'=1+1,'@SUM(A1),-2,'-x,+4.5,\"a,\"\"b\"\"\r\n\",plain,,\\u{1b}[2J,-0.5,\r\n";
        assert_eq!(line(&cells), fields);
    }

    #[test]
    fn running_text_stands_under_no_group() {
        let columns = Columns::<u64>::new().key("threads", |row| row);
        let columns = columns.with("tps", |row| row).with("tps", |row| row);
        let columns = columns.words("noticed by", |_| "disk");
        let columns = columns.words("acknowledged on", |_| "disk");
        let grid = Grid {
            groups: vec!["old".to_owned(), "new".to_owned()],
            ..columns.grid("", [8])
        };
        let heads = [
            "threads",
            "old: tps",
            "new: tps",
            "noticed by",
            "acknowledged on",
        ];
        assert_eq!(grid.flat_heads(), heads);
        assert_eq!(grid.span(), 1);
    }
}
