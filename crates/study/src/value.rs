//! A value that has been read and lies in its range.

use std::fmt;
use std::time::Duration;

use crate::duration::format_duration;
use crate::spec::ServerUrl;

/// A typed value of any key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Url(ServerUrl),
    Integer(u64),
    Number(f64),
    Duration(Duration),
}

/// The value in one fixed form: two values are the same if they read the same.
/// An address is without its password.
impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Url(url) => url.fmt(f),
            Self::Integer(n) => n.fmt(f),
            Self::Number(n) => n.fmt(f),
            Self::Duration(d) => f.write_str(&format_duration(*d)),
        }
    }
}

/// How the meaning asks for a value in its own type.
pub(crate) trait FromValue: Sized {
    fn from_value(value: &Value) -> Option<Self>;
}

impl FromValue for String {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Text(text) = value {
            Some(text.clone())
        } else {
            None
        }
    }
}

impl FromValue for ServerUrl {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Url(url) = value {
            Some(url.clone())
        } else {
            None
        }
    }
}

impl FromValue for u64 {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Integer(n) = value {
            Some(*n)
        } else {
            None
        }
    }
}

impl FromValue for u32 {
    fn from_value(value: &Value) -> Option<Self> {
        u64::from_value(value)?.try_into().ok()
    }
}

impl FromValue for f64 {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Number(n) = value {
            Some(*n)
        } else {
            None
        }
    }
}

impl FromValue for Duration {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Duration(d) = value {
            Some(*d)
        } else {
            None
        }
    }
}
