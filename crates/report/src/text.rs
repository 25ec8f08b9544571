//! Writes a sheet for a terminal, without colors: notices last, next to the prompt. What a terminal
//! would obey is made visible: words of servers, results and studies may hold anything.

use std::fmt::Write;

use comfy_table::{CellAlignment, Table, presets};

use crate::characters::{ascii, visible};
use crate::grid::Grid;
use crate::list::around;
use crate::sheet::{Facts, Item, Sheet, Writer};

/// Columns that running text in a cell may take.
const MOST_WORDS: usize = 60;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Layout {
    pub width: usize,
    pub ascii: bool,
}

impl Layout {
    /// For a file, or a terminal of unknown width.
    pub const DEFAULT: Self = Self {
        width: 88,
        ascii: false,
    };
}

impl Sheet {
    /// For a terminal: without the title, which repeats the command, and the figures.
    pub fn text(&self, layout: Layout) -> String {
        let mut text = Text {
            text: String::new(),
            layout,
            follows_title: false,
        };
        for words in [&self.lead].into_iter().chain(&self.description) {
            text.paragraph(words);
        }
        for section in self.sections.iter().chain(&self.notices) {
            text.section(section);
        }
        text.text
    }
}

struct Text {
    text: String,
    layout: Layout,
    follows_title: bool,
}

impl Writer for Text {
    fn title(&mut self, title: &str, _is_section: bool) {
        self.paragraph(title);
        self.follows_title = true;
    }

    fn paragraph(&mut self, words: &str) {
        if !words.is_empty() {
            self.gap();
            self.line("", words);
        }
    }

    fn list(&mut self, items: &[Item]) {
        // A list stands right below its title.
        if !self.follows_title {
            self.gap();
        }
        self.follows_title = false;
        items.iter().for_each(|item| self.item(item));
    }

    fn facts(&mut self, facts: &Facts) {
        self.gap();
        for (name, value) in facts {
            self.line(&format!("{name}: "), value);
        }
    }

    fn table(&mut self, table: &Grid) {
        self.paragraph(&table.caption);
        if table.caption.is_empty() {
            self.gap();
        }
        self.text.push_str(&grid(table, self.layout));
        self.paragraph(&table.note);
    }

    fn code(&mut self, code: &str) {
        for line in code.lines() {
            let _ = writeln!(self.text, "    {}", plain(line, self.layout));
        }
    }
}

impl Text {
    fn item(&mut self, item: &Item) {
        let (name, scope) = (around("", &item.name, ": "), around(" (", &item.scope, ")"));
        self.line("- ", &format!("{name}{}{scope}", item.words));
        if !item.why.is_empty() {
            self.line("  why: ", &item.why);
        }
        // A command stays in one piece, to be copied.
        if let Some(fix) = &item.fix {
            let _ = writeln!(self.text, "  fix: {}", plain(fix, self.layout));
        }
    }

    fn line(&mut self, start: &str, words: &str) {
        let _ = writeln!(self.text, "{}", wrap(start, words, self.layout));
    }

    fn gap(&mut self) {
        self.follows_title = false;
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}

fn grid(grid: &Grid, layout: Layout) -> String {
    let in_cell = Layout {
        width: MOST_WORDS.min(layout.width),
        ..layout
    };
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table.set_header(grid.flat_heads().iter().map(|head| plain(head, layout)));
    for row in &grid.rows {
        let cells = row.iter().enumerate();
        table.add_row(cells.map(|(column, cell)| match grid.is_words(&column) {
            true => wrap("", &cell.to_string(), in_cell),
            false => plain(&cell.to_string(), layout),
        }));
    }
    for (column, shape) in table.column_iter_mut().enumerate() {
        if column >= grid.keys && !grid.is_words(&column) {
            shape.set_cell_alignment(CellAlignment::Right);
        }
        shape.set_padding((u16::from(column > 0), 1));
    }
    let lines = table.lines();
    lines.map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Breaks a text between words, but not at a non-breaking space; further lines are indented by the
/// width of `start`, up to four columns.
fn wrap(start: &str, text: &str, layout: Layout) -> String {
    let mut lines = plain(start, layout);
    let mut column = lines.chars().count();
    let margin = " ".repeat(column.min(4));
    // Split first: ASCII has no non-breaking space.
    let words = text.split(|c: char| c.is_whitespace() && c != '\u{a0}');
    for (place, word) in words.filter(|word| !word.is_empty()).enumerate() {
        let word = plain(word, layout);
        let length = word.chars().count();
        if place > 0 && column + 1 + length > layout.width {
            lines.extend(["\n", &margin]);
            column = margin.len();
        } else if place > 0 {
            lines.push(' ');
            column += 1;
        }
        lines.push_str(&word);
        column += length;
    }
    lines
}

/// One line without anything that a terminal would obey: a server's words may hold anything.
fn plain(text: &str, layout: Layout) -> String {
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
    }

    #[test]
    fn a_number_stays_on_a_line_with_its_error() {
        let text = "tps 5,634\u{a0}±\u{a0}84";
        for (ascii, broken) in [
            (false, "tps\n5,634\u{a0}±\u{a0}84"),
            (true, "tps\n5,634 +/- 84"),
        ] {
            let width = 12;
            assert_eq!(wrap("", text, Layout { width, ascii }), broken);
        }
    }

    #[test]
    fn a_terminal_obeys_no_text_and_may_want_ascii() {
        let text = wrap("Error: ", "\u{1b}[2J\u{7}gone\r\nover", Layout::DEFAULT);
        assert_eq!(text, r"Error: \u{1b}[2J\u{7}gone over");
        let (width, ascii) = (60, true);
        let text = wrap("", "5,634 ± 84 of λ…", Layout { width, ascii });
        assert_eq!(text, "5,634 +/- 84 of lambda...");
    }
}
