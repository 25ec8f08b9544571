//! Writes a sheet as Markdown.

use std::fmt::Write;

use crate::characters::{steers, visible};
use crate::grid::Grid;
use crate::list::{around, joined};
use crate::sheet::{Facts, Item, Sheet, Writer};

impl Sheet {
    pub fn markdown(&self) -> String {
        let mut markdown = Markdown(format!("# {}\n", plain(&self.title)));
        if let Some(question) = &self.question {
            let _ = write!(markdown.0, "\n*{}*\n", plain(question));
        }
        for words in [&self.lead].into_iter().chain(&self.description) {
            markdown.paragraph(words);
        }
        for section in self.notices.iter().chain(&self.sections) {
            markdown.section(section);
        }
        markdown.0
    }
}

struct Markdown(String);

impl Writer for Markdown {
    fn title(&mut self, title: &str, is_section: bool) {
        let marks = if is_section { "##" } else { "###" };
        let _ = write!(self.0, "\n{marks} {}\n", plain(title));
    }

    fn paragraph(&mut self, words: &str) {
        if !words.is_empty() {
            let _ = write!(self.0, "\n{}\n", block(plain(words)));
        }
    }

    fn list(&mut self, items: &[Item]) {
        self.lines(items.iter().map(item));
    }

    fn facts(&mut self, facts: &Facts) {
        let facts = facts.iter();
        self.lines(facts.map(|(name, value)| format!("{}: {}", plain(name), plain(value))));
    }

    /// A column under a group has the group in its head: Markdown spans no columns.
    fn table(&mut self, grid: &Grid) {
        self.paragraph(&grid.caption);
        let heads = grid.flat_heads();
        let rules =
            (0..heads.len()).map(|place| match place < grid.keys || grid.is_words(&place) {
                true => "---",
                false => "---:",
            });
        let rules = rules.collect::<Vec<_>>().join(" | ");
        let _ = write!(self.0, "\n{}| {rules} |\n", row(&heads));
        self.0.extend(grid.rows.iter().map(|cells| row(cells)));
        self.paragraph(&grid.note);
    }

    /// With a fence that the code does not hold.
    fn code(&mut self, code: &str) {
        let code = visible(code);
        let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let fence = "`".repeat(longest.max(2) + 1);
        let _ = write!(self.0, "\n{fence}\n{}\n{fence}\n", code.trim_end());
    }
}

impl Markdown {
    fn lines(&mut self, items: impl Iterator<Item = String>) {
        for (place, item) in items.enumerate() {
            let gap = if place == 0 { "\n" } else { "" };
            let _ = writeln!(self.0, "{gap}- {}", block(item));
        }
    }
}

fn item(item: &Item) -> String {
    let [name, words, scope, why] =
        [&item.name, &item.words, &item.scope, &item.why].map(|text| plain(text));
    let fix = item.fix.as_ref().map_or(String::new(), |fix| plain(fix));
    let parts = [
        around("**", &name, "**"),
        words,
        around("(", &scope, ")"),
        why,
        around("Fix: ", &fix, ""),
    ];
    joined(parts.iter().filter(|part| !part.is_empty()), " ")
}

fn row<T: ToString>(cells: &[T]) -> String {
    let cells = cells.iter().map(|cell| plain(&cell.to_string()));
    format!("| {} |\n", joined(cells, " | "))
}

/// Text as it is: nothing in it is markup, and it stays on its line.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            // Between letters, as in the name of a setting, it means nothing.
            '_' if plain.ends_with(char::is_alphanumeric) => plain.push(c),
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '|' | '#' | '~' | '&' => {
                plain.push('\\');
                plain.push(c);
            }
            '\u{a0}' => plain.push(c),
            c if c.is_whitespace() || steers(c) => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain.trim().to_owned()
}

/// The text as a paragraph, with a start escaped that would make it a list or a thematic break.
fn block(mut text: String) -> String {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let marks = if digits > 0 { ['.', ')'] } else { ['-', '+'] };
    let rest = text[digits..].strip_prefix(marks);
    let rest = rest.map(|rest| rest.trim_start_matches('-'));
    if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')) {
        text.insert(digits, '\\');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_paragraph_is_no_list_and_no_rule() {
        for (text, paragraph) in [
            ("- a", "\\- a"),
            ("+ a", "\\+ a"),
            ("12. a", "12\\. a"),
            ("1)", "1\\)"),
            ("---", "\\---"),
            ("-5 to 1.5 ms", "-5 to 1.5 ms"),
            ("1.5 ms", "1.5 ms"),
        ] {
            assert_eq!(block(plain(text)), paragraph);
        }
    }

    #[test]
    fn words_are_not_markup() {
        assert_eq!(plain("a|b\n<b>*x*"), "a\\|b \\<b\\>\\*x\\*");
        assert_eq!(plain("a\u{1b}[2J\u{202e}b"), "a \\[2J b");
        assert_eq!(plain("5\u{a0}ms\tb"), "5\u{a0}ms b");
        for (code, fenced) in [
            ("one ```` two", "\n`````\none ```` two\n`````\n"),
            ("a\u{1b}[2J", "\n```\na\\u{1b}[2J\n```\n"),
        ] {
            let mut text = Markdown(String::new());
            text.code(code);
            assert_eq!(text.0, fenced);
        }
    }
}
