//! What results answer when they are asked, in every form in which it can be read.

use serde::Serialize;

use crate::figures::Overview;
use crate::html::{self, ReportError};
use crate::sheet::Sheet;
use crate::{markdown, text};

/// An answer that was worked out of one result or of several.
pub trait Answer: Serialize {
    /// Its parts, in the order in which they are read.
    fn sheet(&self) -> Sheet;

    /// The same for spreadsheets; nothing is rounded.
    fn csv(&self) -> String;

    /// Version of the dyno that measured.
    fn version(&self) -> &str;

    /// What its figures draw, where it has some.
    fn figures(&self) -> Option<Overview> {
        None
    }

    /// For a terminal.
    fn text(&self) -> String {
        text::sheet(&self.sheet())
    }

    /// For where a page cannot be shown.
    fn markdown(&self) -> String {
        markdown::sheet(&self.sheet())
    }

    /// For programs.
    ///
    /// # Errors
    /// When it cannot be written down; no input is known that does that.
    fn json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    /// As a page that needs nothing else.
    ///
    /// # Errors
    /// When the page cannot be put together; no input is known that does that.
    fn html(&self) -> Result<String, ReportError> {
        html::sheet(&self.sheet(), self.version(), self.figures().as_ref())
    }
}
