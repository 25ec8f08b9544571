//! The names of variables, and what is taken from the front of a text.

use std::collections::HashMap;

/// The numbers of the variables of all scripts.
pub(crate) type Names = HashMap<String, usize>;

/// The number of the variable of this name.
pub(crate) fn number(name: &str, names: &mut Names) -> usize {
    let next = names.len();
    *names.entry(name.to_owned()).or_insert(next)
}

/// Like [`number`]; an error unless a variable can have this name.
pub(crate) fn checked_number(name: &str, names: &mut Names) -> Result<usize, String> {
    match !name.is_empty() && leading_name(name) == name {
        true => Ok(number(name, names)),
        false => Err(format!("invalid variable name: \"{name}\"")),
    }
}

/// Whether a character can be part of a name.
pub(crate) fn is_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_' || !character.is_ascii()
}

/// The name with which a text begins; empty if it begins with none.
pub(crate) fn leading_name(mut text: &str) -> &str {
    match text.starts_with(|c: char| c.is_ascii_digit()) {
        true => "",
        false => take_while(&mut text, is_name),
    }
}

pub(crate) fn take<'a>(text: &mut &'a str, bytes: usize) -> &'a str {
    let (taken, rest) = text.split_at(bytes);
    *text = rest;
    taken
}

pub(crate) fn take_while<'a>(text: &mut &'a str, is_part: impl Fn(char) -> bool) -> &'a str {
    let end = text.find(|c: char| !is_part(c)).unwrap_or(text.len());
    take(text, end)
}

/// Takes a word, and the blanks behind it.
pub(crate) fn take_word<'a>(text: &mut &'a str) -> &'a str {
    let word = take_while(text, |c| !c.is_whitespace());
    *text = text.trim_start();
    word
}
