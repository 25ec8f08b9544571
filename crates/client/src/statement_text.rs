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
        Param::Text(bytes) => {
            let text = str::from_utf8(bytes);
            out.push_str(if text.is_ok() { "'" } else { "X'" });
            match text {
                Ok(text) => text.chars().for_each(|character| {
                    out.extend(escape(character));
                    out.push(character);
                }),
                // The text of a statement is UTF-8.
                Err(_) => bytes.iter().for_each(|byte| {
                    let _ = write!(out, "{byte:02x}");
                }),
            }
            out.push('\'');
        }
        Param::Double(number) => {
            // With an exponent: MySQL takes a number without one for a decimal, of smaller range.
            let _ = write!(out, "{number:e}");
        }
        Param::Null => out.push_str("NULL"),
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

    #[test]
    fn values_are_written_as_literals() {
        let written = |value: Param<'_>| {
            let mut out = String::new();
            write_value(&mut out, &value, |c| (c == '\'').then_some('\''));
            out
        };
        assert_eq!(written(Param::Null), "NULL");
        assert_eq!(written(Param::Double(-0.5)), "-5e-1");
        assert_eq!(written(Param::Double(1e300)), "1e300");
        assert_eq!(written(Param::Text(b"it's")), "'it''s'");
        assert_eq!(written(Param::Text(b"\xff'")), "X'ff27'");
    }
}
