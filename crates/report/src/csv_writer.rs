//! CSV for spreadsheets and programs (RFC 4180): no number is rounded, and what was not measured is
//! empty.
//!
//! A text that a spreadsheet would take for a formula starts with an apostrophe.

use std::borrow::Cow;

use crate::content::Content;
use crate::text::{steers, visible};

pub(crate) fn write(lines: impl IntoIterator<Item = Vec<Content>>) -> String {
    let lines = lines.into_iter().map(|cells| {
        let fields: Vec<String> = cells.iter().map(field).collect();
        fields.join(",") + "\r\n"
    });
    lines.collect()
}

fn field(content: &Content) -> String {
    let number = |value: Option<f64>| {
        let value = value.filter(|value| value.is_finite());
        value.map_or_else(String::new, |value| value.to_string())
    };
    match content {
        Content::Absent => String::new(),
        Content::Text(text) => quoted(&plain(text)),
        Content::Count(count) => count.to_string(),
        Content::Number(value) => number(Some(*value)),
        Content::Estimate(estimate) => number(Some(estimate.value)),
        Content::Cell(cell) => number(cell.value()),
    }
}

/// A number as a text, such as the value of a key, stays one. What steers a terminal is
/// made visible; ends of lines stay, in quotes.
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
        let texts = [
            "=1+1",
            "@SUM(A1)",
            "-2",
            "-x",
            "+4.5",
            "a,\"b\"\r\n",
            "plain",
            "",
            "\u{1b}[2J",
        ];
        let mut cells: Vec<Content> = texts.map(Content::from).to_vec();
        cells.extend([Content::Number(-0.5), Content::Absent]);
        let line = "'=1+1,'@SUM(A1),-2,'-x,+4.5,\"a,\"\"b\"\"\r\n\",plain,,\\u{1b}[2J,-0.5,\r\n";
        assert_eq!(write([cells]), line);
    }
}
