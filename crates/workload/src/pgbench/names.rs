//! Variables by name and number, and a position in a text that names them.

use std::collections::HashMap;

/// The numbers of the variables of all scripts.
pub(crate) type Names = HashMap<String, usize>;

#[derive(Debug)]
pub(crate) struct Name {
    pub(crate) text: String,
    pub(crate) number: usize,
}

impl Name {
    pub(crate) fn new(text: &str, names: &mut Names) -> Self {
        let (text, next) = (text.to_owned(), names.len());
        let number = *names.entry(text.clone()).or_insert(next);
        Self { text, number }
    }
}

/// Whether a character can be part of a name.
pub(crate) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// The name with which a text begins; empty if it begins with none.
pub(crate) fn leading_name(text: &str) -> &str {
    let name = Cursor::new(text).take_while(is_name);
    if name.starts_with(|c: char| c.is_ascii_digit()) {
        return "";
    }
    name
}

/// An error unless a variable can have this name.
pub(crate) fn check(name: &str) -> Result<(), String> {
    if name.is_empty() || leading_name(name) != name {
        return Err(format!("invalid variable name: \"{name}\""));
    }
    Ok(())
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'a> {
    pub(crate) text: &'a str,
    /// Bytes before the position, which is between two characters.
    pub(crate) at: usize,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    pub(crate) fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Takes so many bytes; none if they do not end between two characters.
    pub(crate) fn take(&mut self, bytes: usize) -> &'a str {
        let taken = self.rest().get(..bytes).unwrap_or_default();
        self.at += taken.len();
        taken
    }

    pub(crate) fn take_while(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        self.take(rest.find(|c: char| !is_part(c)).unwrap_or(rest.len()))
    }

    /// Skips blanks, and newlines after a backslash.
    pub(crate) fn skip_blanks(&mut self) {
        loop {
            self.take_while(char::is_whitespace);
            let rest = self.rest();
            if !rest.starts_with("\\\n") && !rest.starts_with("\\\r") {
                return;
            }
            self.at += 1;
        }
    }

    /// The next word of a meta command, and where it begins.
    pub(crate) fn word(&mut self) -> (usize, &'a str) {
        self.skip_blanks();
        (self.at, self.take_while(|c| !c.is_whitespace()))
    }
}
