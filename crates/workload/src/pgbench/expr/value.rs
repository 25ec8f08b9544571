//! Values of expressions, and the variables that hold them.

use std::fmt;

use crate::session::Param;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Double(f64),
}

impl Value {
    /// The value that a text in lower case stands for.
    pub(crate) fn read(text: &str) -> Option<Self> {
        match text {
            "null" => Some(Self::Null),
            "true" | "t" | "yes" | "on" => Some(Self::Bool(true)),
            "false" | "f" | "no" | "off" => Some(Self::Bool(false)),
            _ => {
                let int = text.parse().map(Self::Int);
                int.or_else(|_| text.parse().map(Self::Double)).ok()
            }
        }
    }

    /// Whether it makes a condition true.
    pub(crate) fn is_true(self) -> bool {
        !matches!(self, Self::Null | Self::Bool(false) | Self::Int(0)) && self != Self::Double(0.0)
    }

    /// A double becomes the nearest integer, the even one of two.
    pub(crate) fn to_int(self) -> Result<i64, String> {
        match self {
            Self::Int(value) => Ok(value),
            Self::Double(value) if value.abs() < 9.2e18 => Ok(value.round_ties_even() as i64),
            _ => Err(format!("cannot coerce {self} to int")),
        }
    }

    pub(crate) fn to_double(self) -> Result<f64, String> {
        match self {
            Self::Int(value) => Ok(value as f64),
            Self::Double(value) => Ok(value),
            _ => Err(format!("cannot coerce {self} to double")),
        }
    }
}

/// As in a statement.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("NULL"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Int(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value}"),
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

    /// Not every engine has booleans, but all take an integer for one.
    pub(crate) fn param(&self) -> Param<'_> {
        match self {
            Self::Unset | Self::Known(Value::Null) => Param::Null,
            Self::Known(Value::Bool(value)) => Param::Int((*value).into()),
            Self::Known(Value::Int(value)) => Param::Int(*value),
            Self::Known(Value::Double(value)) => Param::Double(*value),
            Self::Text(text) => Param::Text(text.as_bytes()),
        }
    }

    /// The value of the variable of this name.
    pub(crate) fn value(&self, name: &str) -> Result<Value, String> {
        match self {
            Self::Unset => Err(format!("undefined variable \"{name}\"")),
            Self::Known(value) => Ok(*value),
            Self::Text(text) => Value::read(&text.to_ascii_lowercase())
                .ok_or_else(|| format!("malformed variable \"{name}\" value: \"{text}\"")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_read_where_it_is_used() {
        let value = |text: &str| Variable::of_text(text).value("x");
        for (text, expected) in [
            ("NULL", Value::Null),
            ("t", Value::Bool(true)),
            ("YES", Value::Bool(true)),
            ("on", Value::Bool(true)),
            ("f", Value::Bool(false)),
            ("No", Value::Bool(false)),
            ("+7", Value::Int(7)),
            ("007", Value::Int(7)),
            ("-3", Value::Int(-3)),
            ("1.5", Value::Double(1.5)),
            ("1e3", Value::Double(1000.0)),
            (
                "9223372036854775808",
                Value::Double(9_223_372_036_854_775_808.0),
            ),
        ] {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
        for text in ["", "o", "nul", "-", "1x"] {
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
    fn conversions_round_to_even() {
        for (value, rounded) in [(0.5, 0), (1.5, 2), (-2.5, -2)] {
            assert_eq!(Value::Double(value).to_int(), Ok(rounded));
        }
        for (value, text) in [
            (Value::Bool(true), "true"),
            (Value::Double(1e19), "10000000000000000000"),
            (Value::Double(f64::NAN), "NaN"),
        ] {
            let message = format!("cannot coerce {text} to int");
            assert_eq!(value.to_int(), Err(message));
        }
    }
}
