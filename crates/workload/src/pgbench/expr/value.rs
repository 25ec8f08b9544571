//! Values of expressions, and the variables that hold them.

use std::fmt;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

impl Value {
    /// Whether it makes a condition true.
    pub(crate) fn is_true(self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false) | Self::Int(0)) && self != Self::Double(0.0)
    }

    pub(crate) fn to_bool(self) -> Result<bool, String> {
        match self {
            Self::Bool(value) => Ok(value),
            _ => Err(self.is_no("boolean")),
        }
    }

    /// A double becomes the nearest integer, the even one of two.
    pub(crate) fn to_int(self) -> Result<i64, String> {
        const TOO_HIGH: f64 = 9_223_372_036_854_775_808.0;
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) => match value.round_ties_even() {
                rounded if (-TOO_HIGH..TOO_HIGH).contains(&rounded) => Ok(rounded as i64),
                _ => Err(format!("double to int overflow for {value:.6}")),
            },
            _ => Err(self.is_no("int")),
        }
    }

    pub(crate) fn to_double(self) -> Result<f64, String> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            _ => Err(self.is_no("double")),
        }
    }

    fn is_no(self, wanted: &str) -> String {
        let own = match self {
            Self::Null => "null",
            Self::Bool(_) => "boolean",
            Self::Int(_) => "int",
            Self::Double(_) => "double",
        };
        format!("cannot coerce {own} to {wanted}")
    }
}

/// As in a statement: a double has 15 digits.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) => {
                let rounded: f64 = format!("{value:.14e}").parse().unwrap_or(*value);
                write!(f, "{rounded}")
            }
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Variable {
    Unset,
    /// Read as a value only where an expression uses it.
    Text(Box<str>),
    Known(Value),
}

impl Variable {
    /// A variable with this text. An integer is a number at once, because statements need it as one
    /// where a text would be refused: in LIMIT.
    pub(crate) fn of_text(text: &str) -> Self {
        match text.parse::<i64>() {
            Ok(number) if number.to_string() == text => Self::Known(Value::Int(number)),
            _ => Self::Text(text.into()),
        }
    }

    /// The value of the variable of this name.
    pub(crate) fn value(&self, name: &str) -> Result<Value, String> {
        match self {
            Self::Unset => Err(format!("undefined variable \"{name}\"")),
            Self::Known(value) => Ok(*value),
            Self::Text(text) => value_of(&text.to_ascii_lowercase())
                .ok_or_else(|| format!("malformed variable \"{name}\" value: \"{text}\"")),
        }
    }
}

fn value_of(text: &str) -> Option<Value> {
    let begins = |word: &str| !text.is_empty() && word.starts_with(text);
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    match text {
        "null" => Some(Value::Null),
        "on" => Some(Value::Bool(true)),
        "of" | "off" => Some(Value::Bool(false)),
        _ if begins("true") || begins("yes") => Some(Value::Bool(true)),
        _ if begins("false") || begins("no") => Some(Value::Bool(false)),
        _ if digits.bytes().all(|byte| byte.is_ascii_digit()) => text.parse().ok().map(Value::Int),
        _ => text.parse().ok().map(Value::Double),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_are_written_with_15_digits() {
        for (value, text) in [
            (0.1, "0.1"),
            (1.0, "1"),
            (-0.0, "-0"),
            (100_000.0, "100000"),
            (1e14, "100000000000000"),
            (0.000_012_5, "0.0000125"),
            (2.0 / 3.0, "0.666666666666667"),
            (999_999_999_999_999.9, "1000000000000000"),
            (f64::INFINITY, "inf"),
            (f64::NAN, "NaN"),
        ] {
            assert_eq!(Value::Double(value).to_string(), text);
        }
    }

    #[test]
    fn a_text_is_read_where_it_is_used() {
        let value = |text: &str| Variable::of_text(text).value("x");
        for (text, expected) in [
            ("NULL", Value::Null),
            ("t", Value::Bool(true)),
            ("YES", Value::Bool(true)),
            ("on", Value::Bool(true)),
            ("fal", Value::Bool(false)),
            ("n", Value::Bool(false)),
            ("of", Value::Bool(false)),
            ("+7", Value::Int(7)),
            ("007", Value::Int(7)),
            ("-3", Value::Int(-3)),
            ("1.5", Value::Double(1.5)),
            ("1e3", Value::Double(1000.0)),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for text in ["", "o", "nul", "-", "9223372036854775808", "1x"] {
            let message = format!("malformed variable \"x\" value: \"{text}\"");
            assert_eq!(value(text), Err(message));
        }
        let unset = Variable::Unset.value("x");
        assert_eq!(unset, Err("undefined variable \"x\"".to_owned()));
    }

    #[test]
    fn only_integers_as_they_are_written_are_numbers_at_once() {
        assert_eq!(Variable::of_text("-12"), Variable::Known(Value::Int(-12)));
        for text in ["007", "+1", "1.0", "true", "null"] {
            assert_eq!(Variable::of_text(text), Variable::Text(text.into()));
        }
    }

    #[test]
    fn conversions_round_to_even_and_name_their_types() {
        for (value, rounded) in [(0.5, 0), (1.5, 2), (-2.5, -2), (-9.3e18, 0)] {
            let int = Value::Double(value).to_int();
            match rounded {
                0 if value < -1.0 => assert_eq!(
                    int.unwrap_err(),
                    "double to int overflow for -9300000000000000000.000000"
                ),
                _ => assert_eq!(int, Ok(rounded)),
            }
        }
        assert!(Value::Double(9_223_372_036_854_775_808.0).to_int().is_err());
        assert!(Value::Double(f64::NAN).to_int().is_err());
        let error = |result: Result<i64, String>| result.unwrap_err();
        assert_eq!(
            error(Value::Bool(true).to_int()),
            "cannot coerce boolean to int"
        );
        assert_eq!(
            Value::Int(5).to_bool().unwrap_err(),
            "cannot coerce int to boolean"
        );
    }
}
