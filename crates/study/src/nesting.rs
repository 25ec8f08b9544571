//! Refuses keys of very many parts before they become nested tables.
//!
//! The parser limits brackets and the parts of one key, but not their product,
//! and dropping a tree of thousands of levels overflows the stack.

use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use crate::error::Diagnostic;
use plan::{Origin, Span};

/// More than any key of a study has.
const MAX_DOTS: usize = 8;

/// The first key that has too many parts.
pub(crate) fn too_deep(text: &str, origin: Origin) -> Option<(Span, Diagnostic)> {
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
            return Some((span, Diagnostic::new("this key has too many parts", help)));
        }
    }
    None
}
