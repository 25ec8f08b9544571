//! Running text on a terminal.

/// Columns that running text may take.
const WIDTH: usize = 88;

/// Breaks a text between words; what follows the first line stands under its
/// beginning.
pub(crate) fn wrap(start: &str, text: &str) -> String {
    let margin = " ".repeat(start.chars().count().min(4));
    let mut lines = String::from(start);
    let mut column = start.chars().count();
    let mut fresh = true;
    for word in plain(text).split_whitespace() {
        let length = word.chars().count();
        if !fresh && column + 1 + length > WIDTH {
            lines.push('\n');
            lines.push_str(&margin);
            column = margin.len();
        } else if !fresh {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(word);
        column += length;
        fresh = false;
    }
    lines
}

/// A server's words may hold anything, also what a terminal obeys.
pub(crate) fn plain(text: &str) -> String {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().map(shown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_words_cannot_steer_the_terminal() {
        let text = wrap("Error: ", "\u{1b}[2J\u{7}gone\r\nover");
        assert_eq!(text, "Error: [2J gone over");
    }

    #[test]
    fn long_texts_are_broken_between_words() {
        let text = wrap("Warning: ", &"word ".repeat(60));
        assert!(
            text.lines().all(|line| line.chars().count() <= WIDTH),
            "{text}"
        );
        assert!(
            text.lines()
                .skip(1)
                .all(|line| line.starts_with("    word")),
            "{text}"
        );
    }
}
