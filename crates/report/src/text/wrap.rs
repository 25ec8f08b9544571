//! Running text on a terminal.

use super::layout::Layout;
use super::visible::{ascii, visible};

/// Breaks a text between words; further lines are indented by the width of `start`, up to four
/// columns.
pub(super) fn wrap(start: &str, text: &str, layout: Layout) -> String {
    let start = plain(start, layout);
    let width = layout.width;
    let margin = " ".repeat(start.chars().count().min(4));
    let mut column = start.chars().count();
    let mut lines = start;
    let mut fresh = true;
    for word in plain(text, layout).split_whitespace() {
        let length = word.chars().count();
        if !fresh && column + 1 + length > width {
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

/// One line without anything that a terminal would obey: a server's words may hold anything.
pub(super) fn plain(text: &str, layout: Layout) -> String {
    let one_line = text.replace(['\n', '\r', '\t'], " ");
    let shown = visible(&one_line);
    match layout.ascii {
        true => ascii(&shown).into_owned(),
        false => shown.into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_servers_words_cannot_steer_the_terminal() {
        let text = wrap("Error: ", "\u{1b}[2J\u{7}gone\r\nover", Layout::DEFAULT);
        assert_eq!(text, r"Error: \u{1b}[2J\u{7}gone over");
    }

    #[test]
    fn long_texts_are_broken_between_words_at_the_width_of_the_terminal() {
        for width in [60, Layout::DEFAULT.width, 100] {
            let layout = Layout {
                width,
                ..Layout::DEFAULT
            };
            let text = wrap("Warning: ", &"word ".repeat(60), layout);
            let longest = text.lines().map(|line| line.chars().count()).max();
            assert!(longest.is_some_and(|longest| longest <= width && longest > width - 5));
            let mut rest = text.lines().skip(1);
            assert!(rest.all(|line| line.starts_with("    word")), "{text}");
        }
        let after = wrap("", &"word ".repeat(60), Layout::DEFAULT);
        assert!(after.lines().next().is_some_and(|line| line.len() > 80));
    }

    #[test]
    fn ascii_is_all_that_some_terminals_show() {
        let layout = Layout {
            width: 60,
            ascii: true,
        };
        let text = wrap("", "5,634 ± 84 of λ…", layout);
        assert_eq!(text, "5,634 +/- 84 of lambda...");
    }
}
