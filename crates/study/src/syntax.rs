//! Parses TOML and reports all syntax errors at once.

use toml::Spanned as TomlSpanned;
use toml::de::DeTable;

use crate::error::{Fault, Faults};
use crate::nesting;
use plan::{Origin, Span};

/// The tables of a text. A text with a syntax error is not examined further, because what
/// follows the error may be misread.
pub(crate) fn tables(text: &str) -> Result<TomlSpanned<DeTable<'_>>, Faults> {
    if let Some((span, fault)) = nesting::too_deep(text, Origin::File) {
        return Err(Faults::one(span, fault));
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(root);
    }
    let mut faults = Faults::default();
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        faults.add(Span::new(Origin::File, span), fault(error.message()));
    }
    Err(faults)
}

fn fault(message: &str) -> Fault {
    let help = match message {
        m if m.starts_with("duplicate key") => "a section has each key once; keep one of the two",
        m if m.contains("must be quoted") => "write text in quotes: workload = \"oltp_read_write\"",
        m if m.starts_with("invalid basic string") => {
            "close the string with the quotation mark that opens it"
        }
        _ => "",
    };
    Fault::new(format!("not TOML: {message}"), help)
}
