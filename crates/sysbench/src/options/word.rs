//! The words of a command line, and the lines of a configuration file.

use super::values::key;

/// An option with its value.
#[derive(Clone)]
pub(crate) struct Word {
    /// The name with `_` for `-`.
    pub(crate) key: String,
    /// Empty if there is none.
    pub(crate) value: String,
    /// Without a password; `None` if it comes from a file.
    pub(crate) typed: Option<String>,
}

impl Word {
    /// `None` for a word that is not an option.
    pub(crate) fn of(typed: &str) -> Option<Self> {
        let option = typed.strip_prefix("--");
        // A typesetter makes one dash of two hyphens.
        let option = option.or_else(|| typed.strip_prefix(['–', '—']))?;
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        Some(Self {
            key: key(name),
            value: value.to_owned(),
            typed: Some(masked(&format!("--{option}"))),
        })
    }
}

/// A word without a password.
pub(crate) fn masked(typed: &str) -> String {
    match typed.split_once('=') {
        Some((name, value)) if name.ends_with("password") && !value.is_empty() => {
            format!("{name}=***")
        }
        _ => plan::redact(typed),
    }
}

/// The options in a configuration file, in its order.
pub(crate) fn in_file(text: &str) -> impl Iterator<Item = Word> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let values = lines.filter_map(|line| line.split_once('='));
    values.map(|(name, value)| Word {
        key: key(name),
        value: file_value(value),
        typed: None,
    })
}

/// A value's items with commas between them. Blanks separate items too, except within quotes, and
/// `#` begins a comment.
fn file_value(text: &str) -> String {
    let mut items = vec![String::new()];
    let mut quote = None;
    for c in text.chars() {
        match (quote, c) {
            (Some(open), _) if open == c => quote = None,
            (None, '\'' | '"') => quote = Some(c),
            (None, '#') => break,
            (None, _) if c == ',' || c.is_whitespace() => items.push(String::new()),
            _ => items.last_mut().into_iter().for_each(|item| item.push(c)),
        }
    }
    items.retain(|item| !item.is_empty());
    items.join(",")
}
