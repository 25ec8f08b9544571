//! Tables by their columns: each has a head, and knows its cell of a row. Reports show them as a
//! grid, spreadsheets as CSV.

use std::borrow::Cow;

use measure::interval::Estimate;

use crate::cell::Cell;
use crate::grid::{Content, Grid, Head};
use crate::text::{steers, visible};

/// The columns of a table with rows of `R`, usually a reference.
pub(crate) struct Columns<'a, R> {
    heads: Vec<Head>,
    cells: Vec<Box<dyn Fn(R) -> Content + 'a>>,
    keys: usize,
    words: usize,
}

impl<'a, R: Copy + 'a> Columns<'a, R> {
    pub(crate) fn new() -> Self {
        Self {
            heads: Vec::new(),
            cells: Vec::new(),
            keys: 0,
            words: 0,
        }
    }

    pub(crate) fn with<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.heads.push(head.into());
        self.cells.push(Box::new(move |row| cell(row).into()));
        self
    }

    /// A column at the start that says what the row is.
    pub(crate) fn key<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.keys += 1;
        self.with(head, cell)
    }

    /// A column at the end that holds running text.
    pub(crate) fn words<C: Into<Content>>(
        mut self,
        head: impl Into<Head>,
        cell: impl Fn(R) -> C + 'a,
    ) -> Self {
        self.words += 1;
        self.with(head, cell)
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
            heads: self.heads,
            keys: self.keys,
            words: self.words,
            ..Grid::default()
        }
    }

    /// For spreadsheets and programs (RFC 4180): no number is rounded, and what was not measured is
    /// empty.
    pub(crate) fn csv(self, rows: impl IntoIterator<Item = R>) -> String {
        let names = self.heads.iter().map(|head| Content::from(&head.title));
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
        cells.extend([Content::Number(-0.5), Content::Absent]);
        let fields = "'=1+1,'@SUM(A1),-2,'-x,+4.5,\"a,\"\"b\"\"\r\n\",plain,,\\u{1b}[2J,-0.5,\r\n";
        assert_eq!(line(&cells), fields);
    }
}
