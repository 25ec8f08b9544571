//! The one model of everything that dyno reports: a benchmark, a study, a comparison, a rank, a
//! size, a history. It lists what is said in reading order; one writer for each format writes
//! any sheet.

use crate::grid::Grid;

pub(crate) type Facts = Vec<(String, String)>;

#[derive(Debug, Default)]
pub struct Sheet {
    pub(crate) title: String,
    pub(crate) question: Option<String>,
    pub(crate) version: String,
    /// When it was measured; `None` where several results were.
    pub(crate) started: Option<String>,
    pub(crate) lead: String,
    pub(crate) description: Vec<String>,
    pub(crate) notices: Vec<Section>,
    pub(crate) sections: Vec<Section>,
}

#[derive(Debug, Default)]
pub(crate) struct Section {
    /// What the page's contents link to; empty for a section that they leave out.
    pub(crate) id: &'static str,
    /// Empty where the sheet has only one section.
    pub(crate) title: String,
    pub(crate) blocks: Vec<Block>,
}

#[derive(Debug)]
pub(crate) enum Block {
    Heading(String),
    Words(String),
    List(Vec<Item>),
    Facts(Facts),
    Table(Grid),
    /// A command or a file, to be copied.
    Code {
        label: &'static str,
        code: String,
    },
    /// Only on the page.
    Figure {
        /// Its name in the page's script.
        id: &'static str,
        /// A description for readers who cannot see it.
        label: String,
        caption: String,
    },
    /// Details that the page folds away.
    Fold {
        summary: String,
        blocks: Vec<Block>,
    },
    /// Trials, of which the page shows one at a time; other formats have a single one only.
    Trials {
        /// About the page's figures; may be empty.
        note: String,
        trials: Vec<Section>,
    },
}

#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Item {
    /// What it is about; empty where the words say that.
    pub(crate) name: String,
    pub(crate) words: String,
    pub(crate) scope: String,
    pub(crate) why: String,
    pub(crate) fix: Option<String>,
}

impl Sheet {
    /// The answer to a question about results.
    pub(crate) fn answer(
        title: impl Into<String>,
        version: &str,
        lead: String,
        notes: &[String],
        blocks: Vec<Block>,
    ) -> Self {
        let notes = Block::list(notes.iter().map(Item::words));
        let notice = notes
            .map(|list| Section::named("warnings", "Before you trust these numbers", vec![list]));
        Self {
            title: title.into(),
            version: version.to_owned(),
            lead,
            notices: notice.into_iter().collect(),
            sections: vec![Section::new("", blocks)],
            ..Self::default()
        }
    }

    /// The sections that the page's contents link to.
    pub(crate) fn contents(&self) -> impl Iterator<Item = &Section> {
        let sections = self.sections.iter();
        sections.filter(|section| !section.id.is_empty())
    }
}

/// A format that writes the parts of a sheet one after another.
pub(crate) trait Writer {
    /// Of a section, or of blocks within one.
    fn title(&mut self, title: &str, is_section: bool);
    /// Nothing of no words.
    fn paragraph(&mut self, words: &str);
    fn list(&mut self, items: &[Item]);
    fn facts(&mut self, facts: &Facts);
    fn table(&mut self, grid: &Grid);
    fn code(&mut self, code: &str);

    fn section(&mut self, section: &Section) {
        if section.is_only_on_page() {
            return;
        }
        if !section.title.is_empty() {
            self.title(&section.title, true);
        }
        self.blocks(&section.blocks);
    }

    fn blocks(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block {
                Block::Heading(title) => self.title(title, false),
                Block::Words(words) => self.paragraph(words),
                Block::List(items) => self.list(items),
                Block::Facts(facts) => self.facts(facts),
                Block::Table(grid) => self.table(grid),
                Block::Code { label, code } => {
                    self.paragraph(&format!("{label}:"));
                    self.code(code);
                }
                Block::Figure { .. } => {}
                Block::Fold { summary, blocks } => {
                    self.title(summary, false);
                    self.blocks(blocks);
                }
                Block::Trials { trials, .. } => {
                    if let [only] = trials.as_slice() {
                        self.blocks(&only.blocks);
                    }
                }
            }
        }
    }
}

impl Section {
    /// Without an entry in the contents.
    pub(crate) fn new(title: impl Into<String>, blocks: Vec<Block>) -> Self {
        Self::named("", title, blocks)
    }

    pub(crate) fn named(id: &'static str, title: impl Into<String>, blocks: Vec<Block>) -> Self {
        let title = title.into();
        Self { id, title, blocks }
    }

    /// Whether it is empty in formats without figures and without a choice.
    pub(crate) fn is_only_on_page(&self) -> bool {
        let only_on_page = |block: &Block| match block {
            Block::Figure { .. } => true,
            Block::Trials { trials, .. } => trials.len() != 1,
            _ => false,
        };
        self.blocks.iter().all(only_on_page)
    }
}

impl Block {
    pub(crate) fn list(items: impl IntoIterator<Item = Item>) -> Option<Self> {
        let items: Vec<Item> = items.into_iter().collect();
        (!items.is_empty()).then_some(Self::List(items))
    }

    pub(crate) fn folded(title: &str, block: Self) -> Self {
        Self::Fold {
            summary: title.to_owned(),
            blocks: vec![block],
        }
    }

    /// A block below its title, folded away if there is much of it.
    pub(crate) fn titled(title: &str, block: Self, is_much: bool) -> Vec<Self> {
        match is_much {
            true => vec![Self::folded(title, block)],
            false => vec![Self::Heading(title.to_owned()), block],
        }
    }
}

impl Item {
    pub(crate) fn words(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            ..Self::default()
        }
    }
}

/// The tables that have rows, each folded away below its title.
pub(crate) fn folded(
    grids: impl IntoIterator<Item = (&'static str, Grid)>,
) -> impl Iterator<Item = Block> {
    grids.into_iter().flat_map(|(title, grid)| {
        let table = tables([grid]);
        table.map(move |table| Block::folded(title, table))
    })
}

pub(crate) fn known<N: Into<String>>(
    facts: impl IntoIterator<Item = (N, Option<String>)>,
) -> Facts {
    let facts = facts.into_iter();
    let known = facts.filter_map(|(name, value)| Some((name.into(), value?)));
    known.collect()
}

/// A block for each table that has rows.
pub(crate) fn tables(grids: impl IntoIterator<Item = Grid>) -> impl Iterator<Item = Block> {
    let grids = grids.into_iter().filter(|grid| !grid.rows.is_empty());
    grids.map(Block::Table)
}
