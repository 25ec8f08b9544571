//! Writes a sheet as Markdown.

use std::fmt::Write;

use crate::grid::Grid;
use crate::sheet::{Block, Facts, Item, Section, Sheet};
use crate::text::{steers, visible};

impl Sheet {
    pub fn markdown(&self) -> String {
        let mut text = format!("# {}\n", plain(&self.title));
        if let Some(question) = &self.question {
            let _ = write!(text, "\n*{}*\n", plain(question));
        }
        for words in [&self.lead].into_iter().chain(&self.description) {
            paragraph(&mut text, words);
        }
        for part in self.notices.iter().chain(&self.sections) {
            section(&mut text, part);
        }
        text
    }
}

fn section(text: &mut String, section: &Section) {
    if section.is_only_on_page() {
        return;
    }
    if !section.title.is_empty() {
        let _ = write!(text, "\n## {}\n", plain(&section.title));
    }
    blocks(text, &section.blocks);
}

fn blocks(text: &mut String, all: &[Block]) {
    for one in all {
        block(text, one);
    }
}

fn block(text: &mut String, block: &Block) {
    match block {
        Block::Heading(title) => {
            let _ = write!(text, "\n### {}\n", plain(title));
        }
        Block::Words(words) => paragraph(text, words),
        Block::List(items) => list(text, items.iter().map(item)),
        Block::Facts(all) => facts(text, all),
        Block::Table(grid) => table(text, grid),
        Block::Code { label, code } => {
            paragraph(text, &format!("{label}:"));
            fenced(text, code);
        }
        Block::Figure(_) => {}
        Block::Fold {
            summary,
            blocks: inside,
        } => {
            let _ = write!(text, "\n### {}\n", plain(summary));
            blocks(text, inside);
        }
        Block::Trials { trials, .. } => {
            if let [only] = trials.as_slice() {
                blocks(text, &only.blocks);
            }
        }
    }
}

fn item(item: &Item) -> String {
    let mut parts = Vec::new();
    if !item.name.is_empty() {
        parts.push(format!("**{}**", plain(&item.name)));
    }
    parts.push(plain(&item.words));
    if !item.scope.is_empty() {
        parts.push(format!("({})", plain(&item.scope)));
    }
    if !item.why.is_empty() {
        parts.push(plain(&item.why));
    }
    if let Some(fix) = &item.fix {
        parts.push(format!("Fix: {}", plain(fix)));
    }
    parts.join(" ")
}

fn paragraph(text: &mut String, words: &str) {
    if !words.is_empty() {
        let _ = write!(text, "\n{}\n", plain(words));
    }
}

fn list(text: &mut String, items: impl Iterator<Item = String>) {
    for (place, item) in items.enumerate() {
        let gap = if place == 0 { "\n" } else { "" };
        let _ = writeln!(text, "{gap}- {item}");
    }
}

fn facts(text: &mut String, facts: &Facts) {
    let items = facts.iter();
    let items = items.map(|(name, value)| format!("{}: {}", plain(name), plain(value)));
    list(text, items);
}

/// A column under a group has the group in its head: Markdown spans no columns.
fn table(text: &mut String, grid: &Grid) {
    paragraph(text, &grid.caption);
    let heads = grid.flat_heads();
    text.push('\n');
    row(text, &heads);
    let rules = (0..heads.len()).map(|place| match place < grid.keys || grid.is_words(&place) {
        true => "---",
        false => "---:",
    });
    let _ = writeln!(text, "| {} |", rules.collect::<Vec<_>>().join(" | "));
    for cells in &grid.rows {
        row(text, cells);
    }
    paragraph(text, &grid.note);
}

fn row<T: ToString>(text: &mut String, cells: &[T]) {
    let cells: Vec<String> = cells.iter().map(|cell| plain(&cell.to_string())).collect();
    let _ = writeln!(text, "| {} |", cells.join(" | "));
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
            c if c.is_whitespace() || steers(c) => plain.push(' '),
            c => plain.push(c),
        }
    }
    plain.trim().to_owned()
}

/// A block of code with a fence that the code does not hold.
fn fenced(text: &mut String, code: &str) {
    let code = visible(code);
    let longest = code.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    let _ = write!(text, "\n{fence}\n{}\n{fence}\n", code.trim_end());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_not_markup() {
        assert_eq!(plain("a|b\n<b>*x*"), "a\\|b \\<b\\>\\*x\\*");
        assert_eq!(plain("a\u{1b}[2J\u{202e}b"), "a \\[2J b");
        let mut text = String::new();
        fenced(&mut text, "one ```` two");
        assert_eq!(text, "\n`````\none ```` two\n`````\n");
        text.clear();
        fenced(&mut text, "a\u{1b}[2J");
        assert_eq!(text, "\n```\na\\u{1b}[2J\n```\n");
    }
}
