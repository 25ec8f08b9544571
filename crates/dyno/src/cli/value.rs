//! What values of options mean.

use std::time::Duration;

use clap::ValueEnum;

/// What an undecided threshold means for the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum UndecidedArg {
    /// Nothing.
    Pass,
    /// The same as a missed one.
    Fail,
}

/// A plain number is in seconds, as in sysbench and pgbench.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    match is_plain {
        true => with_unit(&format!("{text}s")),
        false => with_unit(text),
    }
}

fn with_unit(text: &str) -> Result<Duration, String> {
    ::plan::parse_duration(text).map_err(|error| error.to_string())
}

/// A limit of response times. It needs its unit: 20 could be meant in milliseconds.
pub(super) fn limit(text: &str) -> Result<Duration, String> {
    match with_unit(text)? {
        Duration::ZERO => Err("no response time is below zero".to_owned()),
        limit => Ok(limit),
    }
}

/// A share, typed in percent.
pub(super) fn percent(text: &str) -> Result<f64, String> {
    let number = text.trim().strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.1..=50.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("it is a percentage from 0.1% to 50%, like 2%".to_owned()),
    }
}

/// A share above 0 and up to 1, as such or in percent.
pub(super) fn share(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let number = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match number {
        Ok(share) if share > 0.0 && share <= 1.0 => Ok(share),
        _ => Err("it is a share above 0 and up to 1, like 0.9 or 90%".to_owned()),
    }
}

pub(super) fn above_zero(text: &str) -> Result<f64, String> {
    match text.trim().replace(['_', ','], "").parse::<f64>() {
        Ok(number) if number > 0.0 && number <= 1e15 => Ok(number),
        _ => Err("it is a number above 0".to_owned()),
    }
}

pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(rate) if (0.001..=1e7).contains(&rate) => Ok(rate),
        _ => Err("a rate is a number of transactions a second, from 0.001 to 10000000; without --rate users do not wait for arrivals".to_owned()),
    }
}

pub(super) fn key_value(text: &str) -> Result<(String, String), String> {
    let (key, value) = text
        .split_once('=')
        .ok_or("it has the form KEY=VALUE, like load.threads=4")?;
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_numbers_are_seconds_but_not_of_response_times() {
        assert_eq!(duration("20"), Ok(Duration::from_secs(20)));
        assert_eq!(duration("1m30s"), Ok(Duration::from_secs(90)));
        assert!(duration("20x").is_err() && duration("").is_err());
        assert_eq!(limit("20ms"), Ok(Duration::from_millis(20)));
        assert!(limit("20").is_err());
    }
}
