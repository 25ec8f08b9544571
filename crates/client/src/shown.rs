//! Statements in messages.

/// How many characters of a statement an error shows.
const SHOWN_CHARS: usize = 200;

/// The beginning of a statement, for an error.
pub(crate) fn shortened(sql: &str) -> String {
    let mut shown: String = sql.chars().take(SHOWN_CHARS).collect();
    if shown.len() < sql.len() {
        shown.push('…');
    }
    shown
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
