//! The names of variables, and what is taken from the front of a text.

use std::collections::HashMap;

/// The numbers of the variables of all scripts.
pub(crate) type Names = HashMap<String, usize>;

/// The number of the variable of this name; an error if no variable can have it.
pub(crate) fn number(name: &str, names: &mut Names) -> Result<usize, String> {
    if name.is_empty() || leading_name(name) != name {
        return Err(format!("invalid variable name: \"{name}\""));
    }
    let next = names.len();
    Ok(*names.entry(name.to_owned()).or_insert(next))
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
