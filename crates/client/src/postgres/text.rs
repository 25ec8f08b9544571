//! Statements with their parameters written into the text.

use workload::session::Param;

use crate::statement_text::write_value;

/// Writes a statement with its parameters in place of `$1`, `$2`, ….
pub(super) fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
    out.clear();
    let mut parts = sql.split('$');
    out.push_str(parts.next().unwrap_or_default());
    for part in parts {
        let digits = part.bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = part.split_at(digits);
        let index = number.parse::<usize>().ok();
        match index.and_then(|index| params.get(index.checked_sub(1)?)) {
            // With standard_conforming_strings, which every supported version has on by default,
            // a backslash is an ordinary character.
            Some(param) => write_value(out, param, |c| (c == '\'').then_some('\'')),
            None => {
                out.push('$');
                out.push_str(number);
            }
        }
        out.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_statements_have_their_values_in_place() {
        let mut out = String::new();
        let params = [Param::Text("it's \\"), Param::Int(-7)];
        for (sql, text) in [
            (
                "UPDATE t SET c=$1 WHERE id=$2",
                r"UPDATE t SET c='it''s \' WHERE id=-7",
            ),
            ("SELECT $2,$2,$1", r"SELECT -7,-7,'it''s \'"),
            ("SELECT $3, $, $0, $x", "SELECT $3, $, $0, $x"),
            ("SELECT 1", "SELECT 1"),
        ] {
            write_text(&mut out, sql, &params);
            assert_eq!(out, text);
        }
    }
}
