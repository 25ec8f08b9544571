//! Statements: where they end, and which variables are in them.

use std::fmt::Write;

use super::expr::Variable;
use super::names::{Cursor, Name, Names, is_name, leading_name};
use crate::dialect::Dialect;

/// Most parameters of a statement that is prepared.
const MAX_PARAMETERS: usize = 255;

/// What ends a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Semicolon,
    /// A backslash; the name of a meta command follows.
    Command,
    File,
}

/// The text of a statement, with variables.
#[derive(Debug, Default)]
pub(crate) struct Template {
    pieces: Vec<Piece>,
    /// Whether it is several statements in one message.
    pub(crate) is_joined: bool,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Parameter(Name),
    /// In a string, a quoted name, or a comment.
    Quoted(Name),
}

impl Template {
    /// Reads a statement, which may be empty.
    pub(crate) fn read(cursor: &mut Cursor<'_>, names: &mut Names, escapes: bool) -> (Self, End) {
        let mut template = Self::default();
        let mut depth = 0_usize;
        let end = loop {
            let plain = cursor.take_while(|c| !";\\-()'\"`/$".contains(c));
            template.push(plain, Piece::Parameter, names);
            let quoted = quoted_bytes(cursor, escapes);
            template.push(cursor.take(quoted), Piece::Quoted, names);
            if quoted > 0 {
                continue;
            }
            let special = cursor.take(1);
            match (special, cursor.rest().chars().next()) {
                ("", _) => break End::File,
                (";", _) if depth == 0 => break End::Semicolon,
                ("\\", Some(';' | ':')) => {
                    template.is_joined |= cursor.rest().starts_with(';');
                    template.push_text(cursor.take(1));
                    continue;
                }
                ("\\", _) => break End::Command,
                ("-", Some('-')) => {
                    cursor.take_while(|c| c != '\n');
                    continue;
                }
                ("(", _) => depth += 1,
                (")", _) => depth = depth.saturating_sub(1),
                _ => {}
            }
            template.push_text(special);
        };
        if let Some(Piece::Text(text)) = template.pieces.last_mut() {
            text.truncate(text.trim_end().len());
        }
        (template, end)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// Appends a text in which names follow single colons.
    fn push(&mut self, text: &str, piece: fn(Name) -> Piece, names: &mut Names) {
        let mut cursor = Cursor::new(text);
        while !cursor.rest().is_empty() {
            self.push_text(cursor.take_while(|c| c != ':'));
            let colons = cursor.take_while(|c| c == ':');
            let name = leading_name(cursor.rest());
            if colons == ":" && !name.is_empty() {
                cursor.take(name.len());
                self.pieces.push(piece(Name::new(name, names)));
            } else {
                self.push_text(colons);
            }
        }
    }

    fn push_text(&mut self, text: &str) {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// The numbers of the variables that are parameters.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = usize> {
        self.pieces.iter().filter_map(|piece| match piece {
            Piece::Parameter(name) => Some(name.number),
            Piece::Text(_) | Piece::Quoted(_) => None,
        })
    }

    pub(crate) fn is_preparable(&self) -> bool {
        let fits = |piece: &Piece| match piece {
            // What looks like a placeholder would be taken for one.
            Piece::Text(text) => !text.contains(['?', '$']),
            Piece::Parameter(_) => true,
            Piece::Quoted(_) => false,
        };
        let count = self.parameters().count();
        !self.is_joined && count <= MAX_PARAMETERS && self.pieces.iter().all(fits)
    }

    /// Its text with a placeholder for each parameter.
    pub(crate) fn prepared(&self, dialect: &Dialect) -> String {
        dialect.with_placeholders(&self.text(|out, _, _| out.write_char('?')))
    }

    /// Its text as it was written.
    pub(crate) fn written(&self) -> String {
        self.text(|out, name, _| write!(out, ":{}", name.text))
    }

    /// Its text with values: of parameters as literals, in quotes as they are.
    pub(crate) fn filled(&self, variables: &[Variable], escapes: bool) -> String {
        let backslash = if escapes { "\\\\" } else { "\\" };
        self.text(|out, name, is_quoted| {
            match (variables.get(name.number), is_quoted) {
                (Some(Variable::Known(value)), _) => write!(out, "{value}"),
                (Some(Variable::Text(text)), true) => write!(out, "{text}"),
                (Some(Variable::Text(text)), false) => {
                    let text = text.replace('\'', "''").replace('\\', backslash);
                    write!(out, "'{text}'")
                }
                (_, true) => write!(out, ":{}", name.text),
                (_, false) => write!(out, "NULL"),
            }
        })
    }

    /// Its text; `write` writes a variable, and is told whether that is in quotes.
    fn text(&self, mut write: impl FnMut(&mut String, &Name, bool) -> std::fmt::Result) -> String {
        let mut out = String::new();
        for piece in &self.pieces {
            // Writing to a String cannot fail.
            let _ = match piece {
                Piece::Text(text) => out.write_str(text),
                Piece::Parameter(name) => write(&mut out, name, false),
                Piece::Quoted(name) => write(&mut out, name, true),
            };
        }
        out
    }
}

/// Bytes of the string, quoted name, or comment that begins here; 0 if none does.
fn quoted_bytes(cursor: &Cursor<'_>, escapes: bool) -> usize {
    let before = cursor.text.get(..cursor.at).unwrap_or_default();
    let text = cursor.rest();
    match text.chars().next() {
        Some('\'') => {
            let before = before.strip_suffix(['e', 'E']);
            let is_escape_string = before.is_some_and(|before| !before.ends_with(is_name));
            string_bytes(text, '\'', escapes || is_escape_string)
        }
        Some(quote @ ('"' | '`')) => string_bytes(text, quote, escapes && quote == '"'),
        Some('/') if text.starts_with("/*") => comment_bytes(text.as_bytes()),
        Some('$') if !before.ends_with(is_name) => dollar_bytes(text),
        _ => 0,
    }
}

/// Bytes of a string; a doubled quote is the end of one and the start of the next.
fn string_bytes(text: &str, quote: char, escapes: bool) -> usize {
    let mut is_escaped = false;
    let mut inside = text.char_indices().skip(1);
    let end = inside.find(|(_, c)| {
        let is_end = *c == quote && !is_escaped;
        is_escaped = escapes && *c == '\\' && !is_escaped;
        is_end
    });
    end.map_or(text.len(), |(at, _)| at + 1)
}

/// Bytes of a comment, in which others may be.
fn comment_bytes(text: &[u8]) -> usize {
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(pair) = text.get(at..at + 2) {
        let is_mark = matches!(pair, b"/*" | b"*/");
        at += 1 + usize::from(is_mark);
        match pair {
            b"/*" => depth += 1,
            b"*/" if depth == 1 => return at,
            b"*/" => depth -= 1,
            _ => {}
        }
    }
    text.len()
}

/// Bytes of a string between two `$tag$`; 0 if that is none.
fn dollar_bytes(text: &str) -> usize {
    let tag = leading_name(text.get(1..).unwrap_or_default());
    let delimiter = format!("${tag}$");
    let Some(body) = text.strip_prefix(&delimiter) else {
        return 0;
    };
    let end = body.find(&delimiter);
    end.map_or(text.len(), |at| at + 2 * delimiter.len())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::pgbench::expr::Value;

    const NUMBERED: Dialect = Dialect {
        has_numbered_placeholders: true,
        ..Dialect::STANDARD
    };

    /// The statements of a script without meta commands, as they were written.
    fn split(text: &str, has_escapes: bool) -> Vec<String> {
        let (mut cursor, mut names) = (Cursor::new(text), Names::default());
        let mut statements = Vec::new();
        loop {
            let (template, end) = Template::read(&mut cursor, &mut names, has_escapes);
            statements.push(template.written().trim_start().to_owned());
            if end != End::Semicolon {
                return statements;
            }
        }
    }

    fn read(text: &str) -> Template {
        Template::read(&mut Cursor::new(text), &mut Names::default(), false).0
    }

    #[test]
    fn a_semicolon_ends_a_statement_outside_of_quotes() {
        for (text, statements) in [
            ("a; b;", vec!["a", "b", ""]),
            ("a ';' \";\" `;` b", vec!["a ';' \";\" `;` b"]),
            ("'it''s;'; b", vec!["'it''s;'", "b"]),
            (r"'\'; b", vec![r"'\'", "b"]),
            (r"E'\'; b'", vec![r"E'\'; b'"]),
            (r"type'\'; b", vec![r"type'\'", "b"]),
            ("/* ; /* ; */ ; */ a; b", vec!["/* ; /* ; */ ; */ a", "b"]),
            ("a -- it's; x\n b; c", vec!["a \n b", "c"]),
            ("$$;$$ $x$ ; $$ ; $x$; b", vec!["$$;$$ $x$ ; $$ ; $x$", "b"]),
            ("a$b$; c$b$", vec!["a$b$", "c$b$"]),
            ("$1; $2", vec!["$1", "$2"]),
            ("(a; b); c", vec!["(a; b)", "c"]),
            (r"a \; b; c", vec!["a ; b", "c"]),
            ("a 'b;", vec!["a 'b;"]),
            ("a::int, :b, c:::d", vec!["a::int, :b, c:::d"]),
        ] {
            assert_eq!(split(text, false), statements, "{text}");
        }
        assert_eq!(split(r"'\'; b'; c", true), [r"'\'; b'", "c"]);
    }

    #[test]
    fn names_outside_of_quotes_are_parameters() {
        let template = read("SELECT :a::int, :b, ':1', :a, x[1:2]");
        assert!(template.is_preparable());
        assert_eq!(
            template.prepared(&NUMBERED),
            "SELECT $1::int, $2, ':1', $3, x[1:2]"
        );
        assert_eq!(
            template.prepared(&Dialect::STANDARD),
            "SELECT ?::int, ?, ':1', ?, x[1:2]"
        );
        assert_eq!(template.parameters().collect::<Vec<_>>(), [0, 1, 0]);
    }

    #[test]
    fn what_cannot_be_prepared() {
        assert!(!read("SELECT '$1'").is_preparable());
        assert!(!read("SELECT '?'").is_preparable());
        assert!(!read(&":a,".repeat(256)).is_preparable());
        assert!(read(&":a,".repeat(255)).is_preparable());
        assert!(!read(r"a \; b").is_preparable());
        assert!(!read("SELECT ':a'").is_preparable());
        assert!(!read("SELECT /* :a */ 1").is_preparable());
    }

    #[test]
    fn values_are_written_in_their_places() {
        let template = read("':a' :a ':b' :b ':c' :c :d");
        let variables = [
            Variable::Text(r"o'\x".into()),
            Variable::Known(Value::Double(0.5)),
            Variable::Unset,
            Variable::Known(Value::Null),
        ];
        let filled = |escapes| template.filled(&variables, escapes);
        assert_eq!(filled(false), r"'o'\x' 'o''\x' '0.5' 0.5 ':c' NULL NULL");
        assert_eq!(filled(true), r"'o'\x' 'o''\\x' '0.5' 0.5 ':c' NULL NULL");
    }

    proptest! {
        #[test]
        fn no_text_is_lost(text in "([a-z:;'\"`$()/*\\\\ \\n]|\\$a\\$|/\\*|ä){0,60}") {
            let (mut cursor, mut names) = (Cursor::new(&text), Names::default());
            let mut count = 0;
            loop {
                let (template, end) = Template::read(&mut cursor, &mut names, count % 2 == 0);
                let is_part = text.contains(template.written().trim());
                prop_assert!(is_part || template.is_joined || text.contains("\\:"));
                count += 1;
                if end == End::File {
                    break;
                }
            }
            prop_assert_eq!(cursor.rest(), "");
        }
    }
}
