//! What is said of several results, on a terminal.

use std::fmt::Write;

use super::table::grid;
use super::wrap::wrap;
use crate::sheet::{Section, Sheet};

/// The answer, what to know before it is believed, and the tables.
pub(crate) fn sheet(sheet: &Sheet) -> String {
    let mut text = wrap("", &sheet.lead);
    text.push('\n');
    for part in &sheet.sections {
        text.push_str(&section(part));
    }
    for (place, caution) in sheet.cautions.iter().enumerate() {
        let gap = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}{}", wrap("Note: ", caution));
    }
    text
}

/// One part, with an empty line before each piece.
pub(crate) fn section(section: &Section) -> String {
    let mut text = String::new();
    if !section.title.is_empty() {
        let _ = write!(text, "\n{}\n", wrap("", &section.title));
    }
    for words in &section.words {
        let _ = write!(text, "\n{}\n", wrap("", words));
    }
    for table in &section.grids {
        let _ = write!(text, "\n{}\n{}", wrap("", &table.caption), grid(table, 0));
    }
    text
}
