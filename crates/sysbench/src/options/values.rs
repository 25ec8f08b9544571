//! The values of options, which are text until they are read.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;
use std::str::FromStr;

pub use script::lua::{Kind, OptionDeclaration};

use super::error::OptionError;

/// Each kind with its word in the table of options, and what follows a name in help.
pub(crate) const KINDS: [(&str, Kind, &str); 7] = [
    ("BOOL", Kind::Bool, "[=on|off]"),
    ("INT", Kind::Int, "=N"),
    ("SIZE", Kind::Size, "=SIZE"),
    ("DOUBLE", Kind::Double, "=N"),
    ("STRING", Kind::String, "=STRING"),
    ("LIST", Kind::List, "=[LIST,...]"),
    ("FILE", Kind::File, "=FILENAME"),
];

/// The values of options by name, in which `-` and `_` are the same. One that does not exist is
/// off, 0 or empty. Without `Debug`, because of the passwords.
#[derive(Clone, Default)]
pub struct Values(BTreeMap<String, (Kind, String)>);

impl Values {
    /// Adds an option, unless there is one of that name.
    pub(crate) fn declare(&mut self, name: &str, kind: Kind, default: &str) {
        let entry = self.0.entry(key(name));
        entry.or_insert_with(|| (kind, default.to_owned()));
    }

    /// Adds options, except those whose names exist already.
    pub(crate) fn declare_all<'a>(
        &mut self,
        options: impl IntoIterator<Item = &'a OptionDeclaration>,
    ) {
        for option in options {
            self.declare(&option.name, option.kind, &option.default);
        }
    }

    /// Sets an option; returns whether it exists and takes this value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> bool {
        let Some((kind, text)) = self.0.get_mut(&key(name)) else {
            return false;
        };
        let value = match kind {
            Kind::Bool => switch(value),
            _ => Some(value),
        };
        if let Some(value) = value {
            value.clone_into(text);
        }
        value.is_some()
    }

    /// The names of all options, with `_`, and how their values are read.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        let values = self.0.iter();
        values.map(|(name, (kind, _))| (name.as_str(), *kind))
    }

    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.0.get(&key(name)).map(|(kind, _)| *kind)
    }

    pub fn text(&self, name: &str) -> &str {
        self.0.get(&key(name)).map_or("", |(_, text)| text.as_str())
    }

    pub fn bool(&self, name: &str) -> bool {
        self.text(name) == "on"
    }

    /// Fails unless the value is a decimal number of 32 bits.
    pub fn int(&self, name: &str) -> Result<i32, OptionError> {
        match self.text(name) {
            "" => Ok(0),
            text => number(name, text),
        }
    }

    /// A whole number in this range.
    pub fn within(&self, name: &str, range: RangeInclusive<u32>) -> Result<u32, OptionError> {
        let number = self.int(name)?;
        match u32::try_from(number) {
            Ok(number) if range.contains(&number) => Ok(number),
            _ => Err(OptionError::invalid(name, number)),
        }
    }

    /// What the value stands for.
    pub fn choose<T: Copy>(&self, name: &str, words: &[(&str, T)]) -> Result<T, OptionError> {
        meaning(self.text(name), words).ok_or_else(|| self.invalid(name))
    }

    /// The error for a value without a meaning.
    pub(crate) fn invalid(&self, name: &str) -> OptionError {
        OptionError::invalid(name, self.text(name))
    }

    /// In bytes. Of a unit, only the first letter counts; an unknown one makes 0, as in sysbench.
    pub fn size(&self, name: &str) -> u64 {
        let text = self.text(name);
        let unit = text.find(|c: char| !c.is_ascii_digit());
        let known = unit.map_or(Some(text), |unit| text.get(..=unit));
        known.and_then(plan::parse_bytes).unwrap_or(0)
    }

    /// 0 unless the value is a number, as in sysbench.
    pub fn double(&self, name: &str) -> f64 {
        self.text(name).trim().parse().unwrap_or(0.0)
    }

    /// The items of a list, which any text may be.
    pub fn list(&self, name: &str) -> Vec<String> {
        let items = self.text(name).split(',').filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }
}

/// The name under which an option is known.
pub(crate) fn key(name: &str) -> String {
    name.replace('-', "_")
}

/// What a value, which may be empty, says of a [`Kind::Bool`]: `on` or `off`.
fn switch(value: &str) -> Option<&'static str> {
    match value {
        "" | "on" | "true" | "1" => Some("on"),
        "off" | "false" | "0" => Some("off"),
        _ => None,
    }
}

/// What a word stands for.
pub(crate) fn meaning<T: Copy>(word: &str, words: &[(&str, T)]) -> Option<T> {
    let found = words.iter().find(|(known, _)| *known == word);
    found.map(|(_, meaning)| *meaning)
}

/// A number in the value of an option.
pub(crate) fn number<T: FromStr>(name: &str, text: &str) -> Result<T, OptionError> {
    text.trim_start().parse().map_err(|_| {
        let name = key(name);
        OptionError::usage(format!("Invalid value for the '{name}' option: '{text}'"))
    })
}
