//! The text of a study without its passwords, and the locations in it.

use crate::error::Location;
use plan::{Origin, Redacted, Span};

/// The text that was read, and the overrides.
#[derive(Debug, Clone)]
pub(crate) struct SourceText {
    pub(crate) label: String,
    pub(crate) file: Redacted,
    /// `key=value`, as typed but without passwords.
    pub(crate) overrides: Vec<String>,
}

impl SourceText {
    /// The location of a span; `None` if it is in no text.
    pub(crate) fn locate(&self, span: Span) -> Option<Location> {
        match span.origin {
            Origin::Nowhere => None,
            Origin::Override(i) => Some(Location {
                path: format!("--set {}", plan::shown(self.overrides.get(i)?)),
                line: None,
            }),
            Origin::File => Some(Location {
                path: self.label.clone(),
                line: Some(crate::render::line_at(
                    &self.file.text,
                    self.file.offset(span.start),
                    self.file.offset(span.end),
                )),
            }),
        }
    }
}
