//! Parsers of option values.

use clap::ValueEnum;
use measure::threshold::Threshold;

use crate::columns;

/// What an undecided threshold means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum UndecidedArg {
    /// It passes.
    #[default]
    Pass,
    /// It fails, like one that is not met.
    Fail,
}

/// A fraction above 0 and at most 1, which may be given in percent.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    match plan::parse_percent(text).or_else(|| text.parse().ok()) {
        Some(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("expected a fraction above 0 and at most 1, such as 0.9 or 90%".to_owned()),
    }
}

pub(super) fn above_zero(text: &str) -> Result<f64, String> {
    match text.trim().replace(['_', ','], "").parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e15 => Ok(number),
        _ => Err("expected a number above 0".to_owned()),
    }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("expected KEY=VALUE, such as load.threads=4")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

pub(super) fn threshold(text: &str) -> Result<Threshold, String> {
    let threshold = Threshold::parse_line(text).map_err(|error| error.to_string())?;
    match columns::suggestion(&threshold.column) {
        Some(help) => Err(format!("unknown column `{}`; {help}", threshold.column)),
        None => Ok(threshold),
    }
}
