//! The values of a test's options, checked.

use crate::options::{OptionError, Values};

/// The error for a value that the test does not take.
pub(super) fn invalid(values: &Values, name: &str) -> OptionError {
    let (option, value) = (name.replace('_', "-"), values.text(name));
    OptionError::fatal(format!("Invalid value for {option}: {value}"))
}

/// A number that is at least `least`.
pub(super) fn count(values: &Values, name: &str, least: u32) -> Result<u32, OptionError> {
    let number = u32::try_from(values.int(name)?).ok();
    let valid = number.filter(|number| *number >= least);
    valid.ok_or_else(|| invalid(values, name))
}

/// What a word stands for.
pub(super) fn meaning<T: Copy>(word: &str, words: &[(&str, T)]) -> Option<T> {
    let found = words.iter().find(|(known, _)| *known == word);
    found.map(|(_, meaning)| *meaning)
}

/// What an option's value stands for.
pub(super) fn choose<T: Copy>(
    values: &Values,
    name: &str,
    words: &[(&str, T)],
) -> Result<T, OptionError> {
    meaning(values.text(name), words).ok_or_else(|| invalid(values, name))
}
