//! What is said of several results, in the order in which it is read; text, Markdown
//! and the page write it down.

use crate::grid::Grid;

/// A page that is no report of one study.
#[derive(Debug, Default)]
pub struct Sheet {
    pub(crate) title: String,
    /// The answer, in a sentence or two.
    pub(crate) lead: String,
    /// What to know before it is believed.
    pub(crate) cautions: Vec<String>,
    pub(crate) sections: Vec<Section>,
}

/// A part of a page.
#[derive(Debug, Default)]
pub(crate) struct Section {
    /// Empty where there is nothing to tell apart.
    pub(crate) title: String,
    pub(crate) words: Vec<String>,
    pub(crate) grids: Vec<Grid>,
    /// Only on the page.
    pub(crate) figures: Vec<Place>,
}

/// Where a figure is drawn.
#[derive(Debug)]
pub(crate) struct Place {
    /// As the script knows it.
    pub(crate) id: &'static str,
    /// For those who do not see it.
    pub(crate) label: String,
    pub(crate) caption: String,
}
