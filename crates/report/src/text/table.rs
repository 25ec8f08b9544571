//! Tables in columns of characters.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use super::layout::Layout;
use super::wrap::{plain, wrap};
use crate::grid::Grid;

/// Columns that running text in a cell may take.
const MOST_WORDS: usize = 60;

/// A grid, without its caption.
pub(super) fn grid(grid: &Grid, layout: Layout) -> String {
    let in_cell = Layout {
        width: MOST_WORDS.min(layout.width),
        ..layout
    };
    let heads = grid.flat_heads();
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(heads.iter().map(|head| plain(head, layout)));
    for row in &grid.rows {
        let cells = row.iter().enumerate();
        table.add_row(cells.map(|(column, cell)| match grid.is_words(&column) {
            true => wrap("", &cell.to_string(), in_cell),
            false => plain(&cell.to_string(), layout),
        }));
    }
    for (column, shape) in table.column_iter_mut().enumerate() {
        if column >= grid.keys && !grid.is_words(&column) {
            shape.set_cell_alignment(CellAlignment::Right);
        }
        shape.set_padding((u16::from(column > 0), 1));
    }
    table.lines().fold(String::new(), |mut text, line| {
        let _ = writeln!(text, "{}", line.trim_end());
        text
    })
}
