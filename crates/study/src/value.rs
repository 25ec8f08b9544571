//! A value that has been read and lies in its range.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use crate::duration::format_duration;
use crate::spec::{Arrivals, Engine, Protocol, ReplyTime, Reset, ServerUrl, TlsMode};

/// A typed value of any key.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Value {
    Text(String),
    Url(ServerUrl),
    Boolean(bool),
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
            Self::Boolean(is) => is.fmt(f),
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
        text(value).map(str::to_owned)
    }
}

impl FromValue for PathBuf {
    fn from_value(value: &Value) -> Option<Self> {
        text(value).map(Self::from)
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

impl FromValue for bool {
    fn from_value(value: &Value) -> Option<Self> {
        if let Value::Boolean(is) = value {
            Some(*is)
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

impl FromValue for u16 {
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

impl FromValue for Engine {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "sqlite" => Some(Self::Sqlite),
            "mariadb" => Some(Self::MariaDb),
            "mysql" => Some(Self::MySql),
            _ => None,
        }
    }
}

impl FromValue for Reset {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "copy" => Some(Self::Copy),
            "rebuild" => Some(Self::Rebuild),
            "none" => Some(Self::None),
            _ => None,
        }
    }
}

impl FromValue for TlsMode {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "disable" => Some(Self::Disable),
            "preferred" => Some(Self::Preferred),
            "required" => Some(Self::Required),
            "verify-ca" => Some(Self::VerifyCa),
            "verify-full" => Some(Self::VerifyFull),
            _ => None,
        }
    }
}

impl FromValue for Protocol {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "prepared" => Some(Self::Prepared),
            "text" => Some(Self::Text),
            _ => None,
        }
    }
}

impl FromValue for ReplyTime {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "kernel" => Some(Self::Kernel),
            "program" => Some(Self::Program),
            _ => None,
        }
    }
}

impl FromValue for Arrivals {
    fn from_value(value: &Value) -> Option<Self> {
        match text(value)? {
            "poisson" => Some(Self::Poisson),
            "constant" => Some(Self::Constant),
            _ => None,
        }
    }
}

fn text(value: &Value) -> Option<&str> {
    if let Value::Text(text) = value {
        Some(text)
    } else {
        None
    }
}
