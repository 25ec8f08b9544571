//! Parses TOML and reports all syntax errors at once.

use toml::Spanned as TomlSpanned;
use toml::de::DeTable;

use crate::error::{Diagnostic, Diagnostics};
use crate::nesting;
use plan::{Origin, Span};

/// The tables of a text. A text with a syntax error is not examined further, because what
/// follows the error may be misread.
pub(crate) fn tables(text: &str) -> Result<TomlSpanned<DeTable<'_>>, Diagnostics> {
    if let Some((span, diagnostic)) = nesting::too_deep(text, Origin::File) {
        return Err(Diagnostics::one(span, diagnostic));
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    if errors.is_empty() {
        return Ok(root);
    }
    let mut diagnostics = Diagnostics::default();
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        diagnostics.add(Span::new(Origin::File, span), diagnostic(error.message()));
    }
    Err(diagnostics)
}

fn diagnostic(message: &str) -> Diagnostic {
    let help = match message {
        m if m.starts_with("duplicate key") => "a section has each key once; keep one of the two",
        m if m.contains("must be quoted") => "write text in quotes: workload = \"oltp_read_write\"",
        m if m.starts_with("invalid basic string") => {
            "close the string with the quotation mark that opens it"
        }
        _ => "",
    };
    Diagnostic::new(format!("not TOML: {message}"), help)
}
