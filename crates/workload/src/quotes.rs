//! Finds what is in quotes and comments of a statement.
//!
//! `escapes`: whether a backslash escapes the next character of every string.

use std::iter;

use crate::pgbench::names::{is_name, leading_name};

/// Splits a statement at each `mark` outside of quotes and comments.
pub fn outside_quotes(sql: &str, mark: char, escapes: bool) -> impl Iterator<Item = &str> {
    let mut rest = Some(sql);
    iter::from_fn(move || {
        let (text, mut end) = (rest?, 0);
        while let Some(character) = text[end..].chars().next() {
            let quoted = quoted_bytes(&text[..end], &text[end..], escapes);
            if quoted.is_none() && character == mark {
                rest = Some(&text[end + mark.len_utf8()..]);
                return Some(&text[..end]);
            }
            end += quoted.unwrap_or(character.len_utf8());
        }
        rest.take()
    })
}

/// Replaces each `?` outside of quotes and comments by `$1`, `$2`, ….
pub fn numbered(sql: &str) -> String {
    let mut parts = outside_quotes(sql, '?', false);
    let mut text = parts.next().unwrap_or_default().to_owned();
    for (number, part) in (1..).zip(parts) {
        text.push_str(&format!("${number}{part}"));
    }
    text
}

/// Bytes of the string, quoted name, or comment with which a text begins.
pub(crate) fn quoted_bytes(before: &str, text: &str, escapes: bool) -> Option<usize> {
    let (open, close) = match text.as_bytes() {
        [b'\'' | b'"' | b'`', ..] => (&text[..1], &text[..1]),
        // With escapes, a blank must follow, and what is in `/*! … */` runs.
        [b'-', b'-', next, ..] if !escapes || next.is_ascii_whitespace() => ("--", "\n"),
        [b'/', b'*', ..] if !(escapes && text.starts_with("/*!")) => ("/*", "*/"),
        [b'$', ..] if !before.ends_with(is_name) => {
            let tag_bytes = leading_name(&text[1..]).len() + 2;
            let tag = text.get(..tag_bytes).filter(|tag| tag.ends_with('$'))?;
            (tag, tag)
        }
        _ => return None,
    };
    let has_escapes = escapes && ["'", "\""].contains(&open);
    let inside = &text[open.len()..];
    let mut ends = inside.match_indices(close).map(|(at, _)| at);
    // A doubled quote is the end of one string and the start of the next.
    let end = ends.find(|at| {
        let backslashes = at - inside[..*at].trim_end_matches('\\').len();
        !has_escapes || backslashes.is_multiple_of(2)
    });
    Some(end.map_or(text.len(), |at| open.len() + at + close.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mark_in_quotes_is_none() {
        let parts = |sql, escapes| outside_quotes(sql, '?', escapes).collect::<Vec<_>>();
        assert_eq!(parts("a=? AND b=?", false), ["a=", " AND b=", ""]);
        assert_eq!(parts("?", false), ["", ""]);
        assert_eq!(parts("", false), [""]);
        for text in ["'?'", "'it''s ?'", "\"a?\"", "`?`", "'\"?'", "\"'?\"", "'?"] {
            assert_eq!(parts(text, false), [text]);
        }
        assert_eq!(parts(r"'\'?", false), [r"'\'", ""]);
        assert_eq!(parts("$a$'?$a$?", false), ["$a$'?$a$", ""]);
        assert_eq!(parts(r"'\' ?', ?", true), [r"'\' ?', ", ""]);
        assert_eq!(parts(r"'\\'?", true), [r"'\\'", ""]);
    }

    #[test]
    fn quotes_in_comments_begin_no_string() {
        for comment in ["-- it's ?\n", "/* it's ? */"] {
            for escapes in [false, true] {
                let sql = format!("{comment}?");
                let parts: Vec<_> = outside_quotes(&sql, '?', escapes).collect();
                assert_eq!(parts, [comment, ""]);
            }
        }
        assert_eq!(numbered("--?\n?"), "--?\n$1");
        let parts: Vec<_> = outside_quotes("1--? /*! ? */", '?', true).collect();
        assert_eq!(parts, ["1--", " /*! ", " */"]);
    }
}
