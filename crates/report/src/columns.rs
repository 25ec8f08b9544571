//! Tables by their columns: each has a head, and knows its cell of a row. Reports show them as a
//! grid, spreadsheets as CSV.

use measure::interval::Estimate;

use crate::cell::Cell;
use crate::content::Content;
use crate::csv_writer;
use crate::grid::{Grid, Head};

/// The columns of a table with rows of `R`, usually a reference.
pub(crate) struct Columns<'a, R> {
    heads: Vec<Head>,
    cells: Vec<Box<dyn Fn(R) -> Content + 'a>>,
    keys: usize,
    words: usize,
}

/// Throughput and response times of a point.
pub(crate) type PointNumbers = (Option<Estimate>, Option<Estimate>, Cell);

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

    /// A column for each of several things.
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

    /// In CSV, throughput and response times of a point.
    pub(crate) fn point(self, of: impl Fn(R) -> PointNumbers + Copy + 'a) -> Self {
        let p99 = "response_ms.p99";
        self.estimate("tps", move |row| of(row).0)
            .estimate("response_ms.mean", move |row| of(row).1)
            .estimate(p99, move |row| of(row).2.estimate)
            .with(format!("{p99}.low"), move |row| Some(of(row).2.range?.low))
            .with(format!("{p99}.high"), move |row| {
                Some(of(row).2.range?.high)
            })
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

    pub(crate) fn csv(self, rows: impl IntoIterator<Item = R>) -> String {
        let names = self.heads.iter().map(|head| Content::from(&head.title));
        let rows = rows.into_iter().map(|row| self.row(row));
        csv_writer::write([names.collect()].into_iter().chain(rows))
    }

    fn row(&self, row: R) -> Vec<Content> {
        self.cells.iter().map(|cell| cell(row)).collect()
    }
}
