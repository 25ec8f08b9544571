//! Statements as text: with their values, and in messages.

use std::fmt::Write as _;

use workload::session::Param;

/// Number of characters of a statement that an error shows.
const SHOWN_CHARS: usize = 200;

/// The beginning of a statement, for an error.
pub(crate) fn shortened(sql: &str) -> String {
    let mut shown: String = sql.chars().take(SHOWN_CHARS).collect();
    if shown.len() < sql.len() {
        shown.push('…');
    }
    shown
}

/// Writes a value into a statement. `escape` returns what must precede a character of a string.
pub(crate) fn write_value(
    out: &mut String,
    value: &Param<'_>,
    escape: impl Fn(char) -> Option<char>,
) {
    match value {
        Param::Int(number) => {
            // Writing to a String cannot fail.
            let _ = write!(out, "{number}");
        }
        Param::Text(text) => {
            out.push('\'');
            for character in text.chars() {
                out.extend(escape(character));
                out.push(character);
            }
            out.push('\'');
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_statement_is_cut_between_two_characters() {
        assert_eq!(shortened("SELECT 'ä'"), "SELECT 'ä'");
        let long = format!("x{}", "ä".repeat(300));
        assert_eq!(shortened(&long), format!("x{}…", "ä".repeat(199)));
    }
}
