//! Thresholds: conditions on numbers at every point of a study.

mod result;

use std::fmt;

use plan::TextError;

use crate::column::unit;

pub use result::{Baseline, Caveat, Paired, ThresholdResult, ThresholdVerdict, judge, points};

const BASELINE: &str = "baseline";
const COMPARISONS: &str = "write an operator and a number, such as `< 25`, `>= 1000` or `>= 0.95 * baseline`; \
     the operators are <, <=, >, and >=";

/// Whether a value and a limit compare as a condition demands.
type Comparison = fn(&f64, &f64) -> bool;

/// The operators, longer ones first.
const OPERATORS: [(&str, Comparison); 4] = [
    ("<=", f64::le),
    (">=", f64::ge),
    ("<", f64::lt),
    (">", f64::gt),
];

/// The right-hand side of a threshold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// In the unit of the column.
    Number(f64),
    /// A multiple of the baseline's value at the same point.
    OfBaseline(f64),
}

/// A condition on a column, displayed as `response_ms.p99 < 25`.
#[derive(Debug, Clone, PartialEq)]
pub struct Threshold {
    /// A column of report tables, for example `response_ms.p99`.
    pub column: String,
    /// One of [`OPERATORS`].
    operator: &'static str,
    pub limit: Limit,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => number.fmt(f),
            Self::OfBaseline(factor) if (*factor - 1.0).abs() < f64::EPSILON => {
                f.write_str(BASELINE)
            }
            Self::OfBaseline(factor) => write!(f, "{factor} * {BASELINE}"),
        }
    }
}

impl fmt::Display for Threshold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.column, self.condition())
    }
}

impl Threshold {
    /// Parses a condition such as `< 25` or `>= 0.95 * baseline`. The column's name may be short
    /// (`p99`) and is not checked.
    pub fn parse(column: &str, condition: &str) -> Result<Self, TextError> {
        let text = condition.trim();
        let found = OPERATORS
            .iter()
            .find_map(|(operator, _)| Some((*operator, text.strip_prefix(operator)?)));
        let Some((operator, rest)) = found else {
            let message = format!("`{}` has no comparison operator", shown(text));
            return Err(TextError::new(message, COMPARISONS));
        };
        let column = crate::column::full_name(column);
        Ok(Self {
            limit: limit(rest.trim(), unit(&column))?,
            column,
            operator,
        })
    }

    /// Parses column and condition from one text: `response_ms.p99 < 25`.
    pub fn parse_line(text: &str) -> Result<Self, TextError> {
        let at = text.find(['<', '>', '=']).unwrap_or(text.len());
        let (column, condition) = text.split_at(at);
        match column.trim() {
            "" => {
                let message = format!("`{}` names no column", shown(text));
                Err(TextError::new(
                    message,
                    "write for example `response_ms.p99 < 25`",
                ))
            }
            column => Self::parse(column, condition),
        }
    }

    /// Operator and limit, for example `< 25`.
    pub fn condition(&self) -> String {
        format!("{} {}", self.operator, self.limit)
    }

    pub fn is_relative(&self) -> bool {
        matches!(self.limit, Limit::OfBaseline(_))
    }

    /// Whether a value meets the condition; `None` if the limit depends on a baseline.
    pub fn holds(&self, value: f64) -> Option<bool> {
        match self.limit {
            Limit::Number(limit) => Some(self.compare(value, limit)),
            Limit::OfBaseline(_) => None,
        }
    }

    fn compare(&self, value: f64, limit: f64) -> bool {
        let mut operators = OPERATORS.iter();
        let known = operators.find(|(operator, _)| *operator == self.operator);
        known.is_some_and(|(_, holds)| holds(&value, &limit))
    }
}

fn limit(text: &str, unit: &str) -> Result<Limit, TextError> {
    if text == BASELINE {
        return Ok(Limit::OfBaseline(1.0));
    }
    if let Some((one, other)) = text.split_once('*') {
        return match (one.trim(), other.trim()) {
            (factor, BASELINE) | (BASELINE, factor) => number(factor, "").map(Limit::OfBaseline),
            (_, other) => {
                let message = format!("`{}` is not `{BASELINE}`", shown(other));
                Err(TextError::new(
                    message,
                    "write for example `>= 0.95 * baseline`",
                ))
            }
        };
    }
    number(text, unit).map(Limit::Number)
}

/// A number, optionally with its unit; times may have any unit of time.
fn number(text: &str, unit: &str) -> Result<f64, TextError> {
    let digits = text.find(|c: char| !(c.is_ascii_digit() || "+-._eE".contains(c)));
    let (value, typed) = text.split_at(digits.unwrap_or(text.len()));
    let plain = value.replace('_', "").parse().ok();
    let Some(number) = plain.filter(|number: &f64| number.is_finite()) else {
        let message = format!("`{}` is not a number", shown(text));
        return Err(TextError::new(message, COMPARISONS));
    };
    let typed = typed.trim();
    if typed.is_empty() || typed == unit {
        return Ok(number);
    }
    let per_ns = match unit {
        "ms" => Some(1e6),
        "s" => Some(1e9),
        _ => None,
    };
    if let (Some(per_ns), Some(ns)) = (per_ns, plan::unit_ns(typed)) {
        return Ok(number * (ns as f64 / per_ns));
    }
    let help = match unit {
        "" => format!("write only the number: {value}"),
        unit => format!("write `{value}`; the unit of the column is {unit}"),
    };
    let message = format!("`{}` has another unit", shown(text));
    Err(TextError::new(message, help))
}

/// User input for a message: shortened, and without control characters.
fn shown(text: &str) -> String {
    const MOST: usize = 60;
    let visible = |c: char| if c.is_control() { ' ' } else { c };
    text.chars().take(MOST).map(visible).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Threshold {
        Threshold::parse_line(text).unwrap()
    }

    #[test]
    fn a_threshold_reads_as_it_is_shown() {
        for text in [
            "tps < 25",
            "tps <= 0.5",
            "cpu.user > -3",
            "response_ms.p99 >= 0.95 * baseline",
            "tps >= baseline",
        ] {
            assert_eq!(read(text).to_string(), text);
        }
        assert_eq!(read("p99 < 5").column, "response_ms.p99");
        assert_eq!(read("tps>=baseline*1_000").limit, Limit::OfBaseline(1000.0));
        assert_eq!(read(" tps  <1e3 ").limit, Limit::Number(1000.0));
        for limit in ["20", "20ms", "20 ms", "0.02s", "20000us"] {
            assert_eq!(read(&format!("p99 < {limit}")), read("p99 < 20"), "{limit}");
        }
        assert_eq!(read("cpu.user < 80 %").limit, Limit::Number(80.0));
    }

    #[test]
    fn what_is_none_says_what_to_write() {
        for (text, said) in [
            ("tps", "has no comparison operator"),
            ("tps = 5", "has no comparison operator"),
            ("tps < ", "is not a number"),
            ("tps < inf", "is not a number"),
            ("tps < nan", "is not a number"),
            ("tps < 25 ms", "`25 ms` has another unit"),
            ("p99 < 25 kg", "write `25`; the unit of the column is ms"),
            (
                "p99 < 0.9ms * baseline",
                "has another unit; write only the number: 0.9",
            ),
            ("tps < 2 * base", "`base` is not `baseline`"),
            ("tps < x * baseline", "`x` is not a number"),
            ("< 5", "names no column"),
            ("", "names no column"),
        ] {
            let error = Threshold::parse_line(text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }
}
