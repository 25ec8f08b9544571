//! Writes a sheet for a terminal: notices last, next to the prompt.

use std::fmt::Write;

use super::layout::Layout;
use super::table::grid;
use super::wrap::{plain, wrap};
use crate::sheet::{Block, Item, Section, Sheet};

impl Sheet {
    /// For a terminal: without the title, which repeats the command, and the figures.
    pub fn text(&self, layout: Layout) -> String {
        let mut writer = Writer {
            text: String::new(),
            layout,
            follows_title: false,
        };
        for words in [&self.lead].into_iter().chain(&self.description) {
            writer.paragraph(words);
        }
        for section in self.sections.iter().chain(&self.notices) {
            writer.section(section);
        }
        writer.text
    }
}

struct Writer {
    text: String,
    layout: Layout,
    follows_title: bool,
}

impl Writer {
    fn section(&mut self, section: &Section) {
        if section.is_only_on_page() {
            return;
        }
        self.paragraph(&section.title);
        self.follows_title = !section.title.is_empty();
        self.blocks(&section.blocks);
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            self.block(block);
            self.follows_title = matches!(block, Block::Heading(_));
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Heading(words) | Block::Words(words) => self.paragraph(words),
            Block::List(items) => {
                // A list stands right below its title.
                if !self.follows_title {
                    self.gap();
                }
                for item in items {
                    self.item(item);
                }
            }
            Block::Facts(facts) => {
                self.gap();
                for (name, value) in facts {
                    self.line(&format!("{name}: "), value);
                }
            }
            Block::Table(table) => {
                self.paragraph(&table.caption);
                if table.caption.is_empty() {
                    self.gap();
                }
                self.text.push_str(&grid(table, self.layout));
                self.paragraph(&table.note);
            }
            Block::Code { label, code } => {
                self.paragraph(&format!("{label}:"));
                for line in code.lines() {
                    let _ = writeln!(self.text, "    {}", plain(line, self.layout));
                }
            }
            Block::Figure(_) => {}
            Block::Fold { summary, blocks } => {
                self.paragraph(summary);
                self.blocks(blocks);
            }
            Block::Trials { trials, .. } => {
                if let [only] = trials.as_slice() {
                    self.blocks(&only.blocks);
                }
            }
        }
    }

    fn item(&mut self, item: &Item) {
        let mut words = item.words.clone();
        if !item.name.is_empty() {
            words = format!("{}: {words}", item.name);
        }
        if !item.scope.is_empty() {
            let _ = write!(words, " ({})", item.scope);
        }
        self.line("- ", &words);
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

    /// With an empty line before it; of no words nothing.
    fn paragraph(&mut self, words: &str) {
        if !words.is_empty() {
            self.gap();
            self.line("", words);
        }
    }

    fn gap(&mut self) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
    }
}
