//! The values of options, which are text until they are read.

use std::collections::BTreeMap;
use std::str::FromStr;

use super::error::OptionError;
use super::word::key;

/// Longer numbers are cut, to bound the work.
const MAX_NUMBER_BYTES: usize = 64;

/// How an option's value is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    Size,
    Double,
    String,
    List,
    File,
}

/// An option of a test or script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declaration<'a> {
    pub name: &'a str,
    pub kind: Kind,
    /// As it would be typed, `on` or `off` for [`Kind::Bool`]; empty if there is none.
    pub default: &'a str,
    pub help: &'a str,
}

/// The values of options by name, with `_` for `-`. One that does not exist is off, 0 or empty.
/// Without `Debug`, because of the passwords.
#[derive(Clone, Default)]
pub struct Values {
    entries: BTreeMap<String, (Kind, String)>,
    /// Whether [`Kind::Bool`] refuses words that it does not know.
    is_strict: bool,
}

impl Values {
    pub(crate) fn new(is_strict: bool) -> Self {
        Self {
            is_strict,
            ..Self::default()
        }
    }

    /// Adds an option, unless there is one of that name.
    pub(crate) fn declare(&mut self, name: &str, kind: Kind, default: &str) {
        let entry = self.entries.entry(key(name));
        entry.or_insert_with(|| (kind, default.to_owned()));
    }

    /// Sets an option; returns whether it exists and takes this value.
    pub(crate) fn set(&mut self, name: &str, value: &str) -> bool {
        let Some((kind, text)) = self.entries.get_mut(name) else {
            return false;
        };
        let value = match (*kind, boolean(value, self.is_strict)) {
            (Kind::Bool, Some(true)) => "on",
            (Kind::Bool, Some(false)) => "off",
            (Kind::Bool, None) => return false,
            _ => value,
        };
        value.clone_into(text);
        true
    }

    /// The names of all options, and how their values are read.
    pub fn names(&self) -> impl Iterator<Item = (&str, Kind)> {
        let entries = self.entries.iter();
        entries.map(|(name, (kind, _))| (name.as_str(), *kind))
    }

    pub fn kind(&self, name: &str) -> Option<Kind> {
        self.entries.get(name).map(|(kind, _)| *kind)
    }

    pub fn text(&self, name: &str) -> &str {
        self.entries.get(name).map_or("", |(_, text)| text.as_str())
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

    /// In bytes. A value with an unknown unit is 0, as in sysbench.
    pub fn size(&self, name: &str) -> u64 {
        let text = self.text(name);
        let end = text.find(|c: char| !c.is_ascii_digit());
        let (digits, unit) = text.split_at(end.unwrap_or(text.len()));
        let number: u64 = digits.parse().unwrap_or(0);
        let unit = unit.chars().next().map(|unit| unit.to_ascii_uppercase());
        let mut units = (0..).zip([None, Some('K'), Some('M'), Some('G'), Some('T')]);
        let power = units.find(|(_, known)| *known == unit);
        power.map_or(0, |(power, _)| number.saturating_mul(1024_u64.pow(power)))
    }

    /// The longest beginning that is a number, else 0, as in sysbench.
    pub fn double(&self, name: &str) -> f64 {
        let text = self.text(name).trim_start();
        let longest = text.len().min(MAX_NUMBER_BYTES);
        let mut beginnings = (1..=longest).rev().filter_map(|end| text.get(..end));
        let number = beginnings.find_map(|number| number.parse().ok());
        number.unwrap_or(0.0)
    }

    /// The items of a list, or the value of another option as the only item.
    pub fn list(&self, name: &str) -> Vec<String> {
        let is_list = self.kind(name) == Some(Kind::List);
        let items = self.text(name).split(|c: char| is_list && c == ',');
        let items = items.filter(|item| !item.is_empty());
        items.map(str::to_owned).collect()
    }
}

/// What a value, which may be empty, says of a [`Kind::Bool`].
pub(crate) fn boolean(value: &str, is_strict: bool) -> Option<bool> {
    match value {
        "" | "on" => Some(true),
        "true" | "1" if is_strict => Some(true),
        "off" | "false" | "0" => Some(false),
        _ => (!is_strict).then_some(false),
    }
}

/// A number in the value of an option.
pub(crate) fn number<T: FromStr>(name: &str, text: &str) -> Result<T, OptionError> {
    text.trim_start().parse().map_err(|_| {
        OptionError::usage(format!("Invalid value for the '{name}' option: '{text}'"))
    })
}
