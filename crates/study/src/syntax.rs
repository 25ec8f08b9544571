//! TOML: parses a text, and reports all its syntax errors at once.

use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::error::{Diagnostics, Report};
use plan::{Origin, Span, TextError};

/// More than any key of a study has.
const MAX_DOTS: usize = 8;

/// The tables of a text. A text with a syntax error is not examined further, because what
/// follows the error may be misread.
pub(crate) fn tables<'t>(
    text: &'t str,
    diagnostics: &Diagnostics,
) -> Option<TomlSpanned<DeTable<'t>>> {
    if let Some((span, error)) = too_deep(text, Origin::File) {
        diagnostics.add(span, error);
        return None;
    }
    let (root, errors) = DeTable::parse_recoverable(text);
    for error in &errors {
        let span = error.span().unwrap_or(text.len()..text.len());
        diagnostics.add(Span::new(Origin::File, span), explained(error.message()));
    }
    errors.is_empty().then_some(root)
}

fn explained(message: &str) -> TextError {
    let help = match message {
        m if m.starts_with("duplicate key") => "a section has each key once; keep one of the two",
        m if m.contains("must be quoted") => "write text in quotes: workload = \"oltp_read_write\"",
        m if m.starts_with("invalid basic string") => {
            "close the string with the quotation mark that opens it"
        }
        _ => "",
    };
    TextError::new(format!("not TOML: {message}"), help)
}

/// The first key that has too many parts. The parser limits brackets and the parts of one key, but
/// not their product, and dropping a tree of thousands of levels overflows the stack.
pub(crate) fn too_deep(text: &str, origin: Origin) -> Option<(Span, TextError)> {
    let mut dots = 0;
    for token in Source::new(text).lex() {
        dots = match token.kind() {
            TokenKind::Dot => dots + 1,
            TokenKind::Atom
            | TokenKind::Whitespace
            | TokenKind::BasicString
            | TokenKind::LiteralString => dots,
            _ => 0,
        };
        if dots > MAX_DOTS {
            let span = Span::new(origin, token.span().start()..token.span().end());
            let help = format!("a key has at most {} parts", MAX_DOTS + 1);
            return Some((span, TextError::new("this key has too many parts", help)));
        }
    }
    None
}

/// The type of a TOML value, for a message.
pub(crate) fn type_words(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}
