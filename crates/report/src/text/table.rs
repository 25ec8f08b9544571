//! Tables in columns of characters.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::wrap::plain;
use crate::grid::Grid;

/// A grid, without its caption.
pub(super) fn grid(grid: &Grid, indent: usize) -> String {
    let rows = grid
        .rows
        .iter()
        .map(|row| row.iter().map(|cell| plain(cell)).collect());
    let heads = grid.flat_heads();
    let heads = heads.iter().map(|head| plain(head)).collect();
    let left = |column: usize| column < grid.keys || grid.is_words(&column);
    aligned(heads, rows.collect(), indent, left)
}

/// The first column reads from the left, numbers from the right.
pub(super) fn table(header: Vec<String>, rows: Vec<Vec<String>>, indent: usize) -> String {
    aligned(header, rows, indent, |column| column == 0)
}

fn aligned(
    header: Vec<String>,
    rows: Vec<Vec<String>>,
    indent: usize,
    left: impl Fn(usize) -> bool,
) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(header);
    for row in rows {
        table.add_row(row);
    }
    for (place, column) in table.column_iter_mut().enumerate() {
        if !left(place) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        column.set_padding((if place == 0 { 0 } else { 1 }, 1));
    }
    let margin = " ".repeat(indent);
    table.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{margin}{}", line.trim_end());
        text
    })
}
