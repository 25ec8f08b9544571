//! Statements: where they end, and which variables are in them.

use std::ops::Range;

use super::expr::Variable;
use super::names::{Names, leading_name, number, take, take_while};
use crate::dialect::Dialect;
use crate::quotes::quoted_bytes;
use crate::session::Param;

/// A variable in a statement: the bytes of the text that are its name with the colon, its number,
/// and whether it is in a string, a quoted name, or a comment.
type Place = (Range<usize>, usize, bool);

#[derive(Debug, Default)]
pub(crate) struct Statement {
    /// With variables as they were written.
    pub(crate) text: String,
    places: Vec<Place>,
    /// Its number in the catalog, if it is there.
    pub(crate) number: Option<u32>,
    /// What precedes the names of the variables in which its result is stored, if it is.
    pub(crate) prefix: Option<String>,
}

impl Statement {
    /// Takes the text before a semicolon or a meta command; `None` if that is no statement.
    pub(crate) fn read(rest: &mut &str, names: &mut Names, escapes: bool) -> Option<Self> {
        let mut statement = Self::default();
        loop {
            let plain = take_while(rest, |c| !";\\-'\"`/$".contains(c));
            statement.push(plain, false, names);
            let quoted = quoted_bytes(&statement.text, rest, escapes);
            match (quoted, rest.as_bytes()) {
                (_, [b'-', b'-', ..]) => {
                    take_while(rest, |c| c != '\n');
                }
                (Some(bytes), _) => statement.push(take(rest, bytes), true, names),
                (_, [] | [b';' | b'\\', ..]) => break,
                _ => statement.text += take(rest, 1),
            }
        }
        // Other blanks may belong to a name.
        let bytes = statement.text.trim_ascii_end().len();
        statement.text.truncate(bytes);
        (bytes > 0).then_some(statement)
    }

    /// Appends a text in which names follow single colons.
    fn push(&mut self, mut text: &str, is_quoted: bool, names: &mut Names) {
        while !text.is_empty() {
            self.text += take_while(&mut text, |c| c != ':');
            let start = self.text.len();
            let colons = take_while(&mut text, |c| c == ':');
            self.text += colons;
            let name = leading_name(text);
            self.text += take(&mut text, name.len());
            if colons == ":"
                && let Ok(number) = number(name, names)
            {
                self.places
                    .push((start..self.text.len(), number, is_quoted));
            }
        }
    }

    /// Its text with a placeholder for each variable, if it can be prepared.
    pub(crate) fn prepared(&self, dialect: &Dialect) -> Option<String> {
        let is_quoted = self.places.iter().any(|(.., is_quoted)| *is_quoted);
        // What looks like a placeholder would be taken for one.
        let is_preparable = self.prefix.is_none() && !is_quoted && !self.text.contains(['?', '$']);
        let text = self.replaced(|_| "?".to_owned());
        is_preparable.then(|| dialect.with_placeholders(&text))
    }

    /// The values of the placeholders.
    pub(crate) fn params<'a>(&self, variables: &'a [Variable]) -> Vec<Param<'a>> {
        let value = |(_, number, _): &Place| variables[*number].param();
        self.places.iter().map(value).collect()
    }

    /// Its text with values: as they are in quotes, as literals elsewhere.
    pub(crate) fn filled(&self, variables: &[Variable], escapes: bool) -> String {
        let backslash = if escapes { "\\\\" } else { "\\" };
        self.replaced(|(name, number, is_quoted)| match &variables[*number] {
            Variable::Unset => self.text[name.clone()].to_owned(),
            Variable::Known(value) => value.to_string(),
            Variable::Text(text) if *is_quoted => text.to_string(),
            Variable::Text(text) => {
                let text = text.replace('\'', "''").replace('\\', backslash);
                format!("'{text}'")
            }
        })
    }

    /// Its text with something in place of each variable.
    fn replaced(&self, value: impl Fn(&Place) -> String) -> String {
        let (mut text, mut end) = (String::new(), 0);
        for place in &self.places {
            text += &self.text[end..place.0.start];
            text += &value(place);
            end = place.0.end;
        }
        text + &self.text[end..]
    }
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
    fn split(text: &str, escapes: bool) -> Vec<String> {
        let (mut rest, mut names) = (text, Names::default());
        let mut statements = Vec::new();
        while let Some(statement) = Statement::read(&mut rest, &mut names, escapes) {
            statements.push(statement.text);
            rest = rest.trim_start_matches([';', ' ']);
        }
        assert_eq!(rest, "");
        statements
    }

    fn read(mut text: &str) -> Statement {
        Statement::read(&mut text, &mut Names::default(), false).unwrap()
    }

    #[test]
    fn a_semicolon_ends_a_statement_outside_of_quotes() {
        for (text, statements) in [
            ("a; b;", vec!["a", "b"]),
            ("a ';' \";\" `;` b", vec!["a ';' \";\" `;` b"]),
            ("'it''s;'; b", vec!["'it''s;'", "b"]),
            (r"'\'; b", vec![r"'\'", "b"]),
            ("/* ; ' */ a; b", vec!["/* ; ' */ a", "b"]),
            ("a -- it's; x\n b; c", vec!["a \n b", "c"]),
            ("$$;$$ $x$ ; $$ ; $x$; b", vec!["$$;$$ $x$ ; $$ ; $x$", "b"]),
            ("a$b$; c$b$", vec!["a$b$", "c$b$"]),
            ("$1; $2", vec!["$1", "$2"]),
            ("a 'b;", vec!["a 'b;"]),
            ("a :b\u{a0} ; c", vec!["a :b\u{a0}", "c"]),
            ("a::int, :b, c:::d", vec!["a::int, :b, c:::d"]),
        ] {
            assert_eq!(split(text, false), statements, "{text}");
        }
        assert_eq!(split(r"'\'; b'; c", true), [r"'\'; b'", "c"]);
    }

    #[test]
    fn names_outside_of_quotes_are_parameters() {
        let statement = read("SELECT :a::int, :b, ':1', :a, x[1:2]");
        assert_eq!(
            statement.prepared(&NUMBERED).as_deref(),
            Some("SELECT $1::int, $2, ':1', $3, x[1:2]")
        );
        assert_eq!(
            statement.prepared(&Dialect::STANDARD).as_deref(),
            Some("SELECT ?::int, ?, ':1', ?, x[1:2]")
        );
        let variables = [
            Variable::Known(Value::Bool(true)),
            Variable::Text("x".into()),
        ];
        let params = [Param::Int(1), Param::Text(b"x"), Param::Int(1)];
        assert_eq!(statement.params(&variables), params);
    }

    #[test]
    fn what_cannot_be_prepared() {
        for text in [
            "SELECT '$1'",
            "SELECT '?'",
            "SELECT ':a'",
            "SELECT /* :a */ 1",
        ] {
            assert_eq!(read(text).prepared(&NUMBERED), None, "{text}");
        }
    }

    #[test]
    fn values_are_written_in_their_places() {
        let statement = read("':a' :a ':b' :b ':c' :c :d");
        let variables = [
            Variable::Text(r"o'\x".into()),
            Variable::Known(Value::Double(0.5)),
            Variable::Unset,
            Variable::Known(Value::Null),
        ];
        let filled = |escapes| statement.filled(&variables, escapes);
        assert_eq!(filled(false), r"'o'\x' 'o''\x' '0.5' 0.5 ':c' :c NULL");
        assert_eq!(filled(true), r"'o'\x' 'o''\\x' '0.5' 0.5 ':c' :c NULL");
    }

    proptest! {
        #[test]
        fn no_text_is_lost(text in "([a-z:;'\"`$()/*\\\\ \\n]|\\$a\\$|/\\*|ä){0,60}") {
            let (mut rest, mut names) = (text.as_str(), Names::default());
            let mut escapes = false;
            while !rest.is_empty() {
                escapes = !escapes;
                if let Some(statement) = Statement::read(&mut rest, &mut names, escapes) {
                    prop_assert!(text.contains(&statement.text));
                }
                // A semicolon, or the backslash of a meta command.
                prop_assert!(rest.is_empty() || rest.starts_with([';', '\\']));
                rest = rest.get(1..).unwrap_or_default();
            }
        }
    }
}
