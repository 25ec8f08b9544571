//! What a cell of a table holds: numbers stay numbers until a writer shows them.

use std::fmt;

use measure::interval::Estimate;
use plan::Value;

use crate::cell::Cell;
use crate::number;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    /// Nothing was measured.
    Absent,
    Text(String),
    Count(u64),
    Number(f64),
    Estimate(Estimate),
    Cell(Cell),
}

/// As people read it; a CSV file has it unrounded.
impl fmt::Display for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Absent => f.write_str(number::ABSENT),
            Self::Text(text) => f.write_str(text),
            Self::Count(count) => f.write_str(&number::count(*count)),
            Self::Number(value) => f.write_str(&number::value(*value)),
            Self::Estimate(estimate) => f.write_str(&number::estimate(Some(*estimate))),
            Self::Cell(cell) => f.write_str(&cell.shown()),
        }
    }
}

impl Content {
    /// The text, if it is one.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl<T: Into<Self>> From<Option<T>> for Content {
    fn from(known: Option<T>) -> Self {
        known.map_or(Self::Absent, Into::into)
    }
}

macro_rules! content {
    ($($from:ty => $to:expr),+ $(,)?) => {
        $(impl From<$from> for Content {
            fn from(from: $from) -> Self {
                let to: fn($from) -> Self = $to;
                to(from)
            }
        })+
    };
}

content! {
    &str => |text| Self::Text(text.to_owned()),
    &String => |text| Self::Text(text.clone()),
    String => Self::Text,
    &Value => |value| Self::Text(value.to_string()),
    bool => |holds| Self::Text(holds.to_string()),
    u32 => |count| Self::Count(count.into()),
    u64 => Self::Count,
    usize => |count| Self::Count(count as u64),
    f64 => Self::Number,
    Estimate => Self::Estimate,
    Cell => Self::Cell,
}
