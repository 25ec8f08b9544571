//! Tables of numbers that dyno wrote, read back.

use std::collections::BTreeMap;

/// A table of Markdown: heads, and rows of cells.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    pub heads: Vec<String>,
    pub rows: Vec<Vec<String>>,
}

/// The tables of a page of Markdown, in its order.
pub fn tables(page: &str) -> Vec<Table> {
    let mut tables = Vec::new();
    let mut open: Option<Table> = None;
    for line in page.lines() {
        if !line.starts_with('|') {
            tables.extend(open.take());
            continue;
        }
        let cells = line.trim_matches('|').split(" | ");
        let cells: Vec<String> = cells.map(|cell| cell.trim().to_owned()).collect();
        match &mut open {
            None => {
                open = Some(Table {
                    heads: cells,
                    rows: Vec::new(),
                });
            }
            Some(_) if cells[0] == "---" => {}
            Some(table) => table.rows.push(cells),
        }
    }
    tables.extend(open);
    tables
}

/// `results.csv`: each line by the names of its columns.
pub fn csv(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = records(text).into_iter();
    let heads = records.next().unwrap_or_default();
    let line = |record: Vec<String>| heads.iter().cloned().zip(record).collect();
    records.map(line).collect()
}

/// As RFC 4180 has them.
fn records(text: &str) -> Vec<Vec<String>> {
    let (mut records, mut record, mut field) = (Vec::new(), Vec::new(), String::new());
    let mut is_quoted = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '"' if is_quoted && chars.peek() == Some(&'"') => field.extend(chars.next()),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => record.push(std::mem::take(&mut field)),
            '\n' if !is_quoted => {
                record.push(std::mem::take(&mut field));
                records.push(std::mem::take(&mut record));
            }
            '\r' if !is_quoted => {}
            c => field.push(c),
        }
    }
    records
}
