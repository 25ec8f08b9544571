//! A value of an option that has been read and is in its range.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::duration::text;
use crate::{CpuSet, ServerUrl, format_duration, parse_bytes};

/// Serialized like the field of a [`crate::Trial`] that it sets. What was serialized as a text is
/// deserialized as one: only its key tells addresses and durations from other texts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Text(String),
    #[serde(skip_deserializing)]
    Url(ServerUrl),
    Boolean(bool),
    Integer(u64),
    Number(f64),
    #[serde(skip_deserializing)]
    Duration(#[serde(with = "text")] Duration),
}

/// As typed in a study, without quotes. Addresses are shown without their passwords.
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

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<u32> for Value {
    fn from(number: u32) -> Self {
        Self::Integer(number.into())
    }
}

impl Value {
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Integer(n) => Some(*n as f64),
            Self::Number(n) => Some(*n),
            Self::Text(_) | Self::Url(_) | Self::Boolean(_) | Self::Duration(_) => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// Converts a value to the type of the field that it is for.
pub trait FromValue: Sized {
    /// `None` if the value is of another kind.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($($type:ty: $($pattern:pat => $result:expr),+;)+) => {
        $(impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    $($pattern => $result,)+
                    _ => None,
                }
            }
        })+
    };
}

from_value! {
    String: Value::Text(text) => Some(text.clone());
    PathBuf: Value::Text(text) => Some(text.into());
    CpuSet: Value::Text(list) => CpuSet::parse(list);
    ServerUrl: Value::Url(url) => Some(url.clone());
    bool: Value::Boolean(is) => Some(*is);
    u64: Value::Integer(n) => Some(*n), Value::Text(bytes) => parse_bytes(bytes);
    u32: Value::Integer(n) => (*n).try_into().ok();
    u16: Value::Integer(n) => (*n).try_into().ok();
    f64: Value::Number(n) => Some(*n);
    Duration: Value::Duration(duration) => Some(*duration);
}
