//! A report in every format.

use serde::Serialize;

use crate::figures::Figures;
use crate::html::{self, ReportError};
use crate::sheet::Sheet;
use crate::text::Layout;

/// Something that dyno reports: one result, or the answer to a question about several.
pub trait Answer: Serialize {
    /// What it says, in reading order.
    fn sheet(&self) -> Sheet;

    /// Its numbers for spreadsheets, unrounded.
    fn csv(&self) -> String;

    /// The data of its figures; `None` without figures.
    fn figures(&self) -> Option<Figures> {
        None
    }

    /// For a terminal.
    fn text(&self, layout: Layout) -> String {
        self.sheet().text(layout)
    }

    /// For where a page cannot be shown.
    fn markdown(&self) -> String {
        self.sheet().markdown()
    }

    /// For programs.
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// A self-contained page.
    fn html(&self) -> Result<String, ReportError> {
        html::write(&self.sheet(), self.figures().as_ref())
    }
}
