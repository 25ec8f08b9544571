//! The text of a study without its passwords, and its lines with the relevant part underlined.

use std::fmt;

use plan::key::SWEEP;
use plan::{Origin, Redacted, Span, redact, shown};

/// Maximum width of an excerpt: longer lines are cut around the underlined part.
const MAX_EXCERPT_CHARS: usize = 120;
/// How much of a cut line is shown before the underlined part.
const LEAD_CHARS: usize = 40;

/// The text that was read, and the overrides.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    pub(crate) label: String,
    pub(crate) file: Redacted,
    /// `key=value`, as typed but without passwords.
    pub(crate) overrides: Vec<String>,
}

impl SourceText {
    /// Replaces `secrets`, the URLs with passwords that were recognized as values, and redacts
    /// anything else that looks like a password.
    pub(crate) fn new(
        label: &str,
        text: &str,
        overrides: &[(&str, &str)],
        secrets: &[(Span, String)],
    ) -> Self {
        let of = |origin: Origin| secrets.iter().filter(move |(at, _)| at.origin == origin);
        let in_file = of(Origin::File).map(|(at, clean)| (at.start..at.end, clean.clone()));
        let overrides = overrides.iter().enumerate().map(|(i, (key, value))| {
            let mut known = of(Origin::Override(i)).filter(|_| !key.starts_with(SWEEP));
            match known.next() {
                Some((_, clean)) => format!("{key}={clean}"),
                None => redact(&format!("{key}={value}")),
            }
        });
        Self {
            label: shown(label),
            file: Redacted::new(text, &in_file.collect::<Vec<_>>()),
            overrides: overrides.collect(),
        }
    }

    /// The location of a problem that has no place in the text.
    pub(crate) fn whole(&self) -> Location {
        Location {
            path: self.label.clone(),
            line: None,
        }
    }

    /// The location of a span; `None` if it is in no text.
    pub(crate) fn locate(&self, span: Span) -> Option<Location> {
        match span.origin {
            Origin::Nowhere => None,
            Origin::Override(i) => Some(Location {
                path: format!("--set {}", shown(self.overrides.get(i)?)),
                line: None,
            }),
            Origin::File => Some(Location {
                path: self.label.clone(),
                line: Some(line_at(
                    &self.file.text,
                    self.file.offset(span.start),
                    self.file.offset(span.end),
                )),
            }),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Location {
    /// The file, or `--set key=value`.
    path: String,
    /// `None` for the whole file and for an override.
    line: Option<SourceLine>,
}

impl Location {
    /// The indentation of the lines around the excerpt.
    pub(crate) fn margin(&self) -> String {
        let line = self.line.as_ref();
        " ".repeat(line.map_or(1, |line| line.number.to_string().len()))
    }

    pub(crate) fn show(&self, f: &mut fmt::Formatter<'_>, arrow: &str) -> fmt::Result {
        write!(f, "\n{}{arrow} {}", self.margin(), self.path)?;
        match &self.line {
            Some(line) => write!(f, ":{}:{}\n{}", line.number, line.column, line.shown),
            None => Ok(()),
        }
    }
}

/// A range of characters on a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceLine {
    /// From 1.
    number: usize,
    /// From 1, in characters.
    column: usize,
    /// Three lines: the second has the text, the third underlines the range.
    shown: String,
}

/// The line that contains byte `start`, underlined up to byte `end` or the end of the line.
fn line_at(text: &str, start: usize, end: usize) -> SourceLine {
    let start = char_boundary(text, start);
    let end = char_boundary(text, end).max(start);
    let (before, after) = text.split_at(start);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line_end = after.find('\n').map_or(text.len(), |at| start + at);
    let chars = |from: usize, to: usize| text.get(from..to).unwrap_or_default().chars().count();
    let column = chars(line_start, start);
    let line = text
        .get(line_start..line_end)
        .unwrap_or_default()
        .trim_end_matches('\r');
    let skipped = match line.chars().nth(MAX_EXCERPT_CHARS) {
        Some(_) => column.saturating_sub(LEAD_CHARS),
        None => 0,
    };
    let excerpt: String = line
        .chars()
        .skip(skipped)
        .take(MAX_EXCERPT_CHARS)
        .map(visible)
        .collect();
    let caret_at = column - skipped;
    let room = excerpt.chars().count().saturating_sub(caret_at);
    let carets = "^".repeat(chars(start, end.min(line_end)).min(room).max(1));
    let number = before.matches('\n').count() + 1;
    let margin = " ".repeat(number.to_string().len());
    let excerpt = format!("{number} | {excerpt}");
    let (excerpt, indent) = (excerpt.trim_end(), " ".repeat(caret_at));
    SourceLine {
        number,
        column: column + 1,
        shown: format!("{margin} |\n{excerpt}\n{margin} | {indent}{carets}"),
    }
}

fn char_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len()))
        .rev()
        .find(|i| text.is_char_boundary(*i))
        .unwrap_or(0)
}

/// Replaces characters that are not one column wide or that control the terminal.
fn visible(c: char) -> char {
    match c {
        '\t' => ' ',
        c if c.is_control() => char::REPLACEMENT_CHARACTER,
        c => c,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_offsets_are_accepted() {
        for text in ["", "é", "a\n", "a\r\nb\tc", &"x".repeat(1000)] {
            for start in 0..8 {
                for end in 0..1200 {
                    let shown = line_at(text, start, end).shown;
                    assert!(shown.lines().count() == 3, "{shown}");
                }
            }
        }
    }

    #[test]
    fn long_lines_are_cut_around_the_underlined_part() {
        let text = format!("{}HERE{}", "a".repeat(500), "b".repeat(500));
        let shown = line_at(&text, 500, 504).shown;
        assert!(shown.contains("aHEREb") && shown.len() < 300, "{shown}");
    }
}
