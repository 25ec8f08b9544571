//! Statements with their parameters written into the text.

use workload::session::Param;

use crate::statement_text::write_value;

/// Writes a statement with its parameters in place of the question marks.
pub(super) fn write_text(out: &mut String, sql: &str, params: &[Param<'_>]) {
    out.clear();
    let mut params = params.iter();
    for part in sql.split('?') {
        out.push_str(part);
        if let Some(param) = params.next() {
            write_value(out, param, |c| matches!(c, '\'' | '\\').then_some('\\'));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_statements_have_their_values_in_place() {
        let mut out = String::new();
        let params = [Param::Text("it's \\"), Param::Int(-7)];
        write_text(&mut out, "UPDATE t SET c=? WHERE id=?", &params);
        assert_eq!(out, r"UPDATE t SET c='it\'s \\' WHERE id=-7");
    }
}
