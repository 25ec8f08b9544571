//! What is said of several results, as Markdown.

use super::{heading, list, paragraph, plain, table};
use crate::sheet::{Section, Sheet};

/// All of it but the figures.
pub(crate) fn sheet(sheet: &Sheet) -> String {
    let mut text = format!("# {}\n", plain(&sheet.title));
    paragraph(&mut text, Some(plain(&sheet.lead)));
    if !sheet.cautions.is_empty() {
        heading(&mut text, "Before you believe these numbers");
        list(
            &mut text,
            sheet.cautions.iter().map(|caution| plain(caution)),
        );
    }
    for part in &sheet.sections {
        section(&mut text, part);
    }
    text
}

/// One part.
pub(crate) fn section(text: &mut String, section: &Section) {
    if !section.title.is_empty() {
        heading(text, &plain(&section.title));
    }
    for words in &section.words {
        paragraph(text, Some(plain(words)));
    }
    for grid in &section.grids {
        table(text, grid);
    }
}
