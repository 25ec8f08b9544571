//! A point of a study: the value of each axis.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};

use crate::key::{Key, Kind};
use crate::{Value, parse_duration};

/// Axes by their dotted names, each with its value. Stored, it is an object whose numbers are
/// numbers. A point never has a password: an address is kept as it is shown.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Value>")]
pub struct Point(BTreeMap<String, Value>);

impl Point {
    /// Whether this point has every value of `other`.
    pub fn contains(&self, other: &Self) -> bool {
        other
            .iter()
            .all(|(axis, value)| self.get(axis) == Some(value))
    }
}

impl Deref for Point {
    type Target = BTreeMap<String, Value>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Point {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

impl<K: Into<String>, V: Into<Value>> FromIterator<(K, V)> for Point {
    fn from_iter<T: IntoIterator<Item = (K, V)>>(values: T) -> Self {
        let shown = |value| match value {
            Value::Url(url) => Value::Text(url.to_string()),
            value => value,
        };
        let values = values.into_iter();
        let values = values.map(|(axis, value)| (axis.into(), shown(value.into())));
        Self(values.collect())
    }
}

/// Tells stored durations from other texts by their keys.
impl From<BTreeMap<String, Value>> for Point {
    fn from(mut stored: BTreeMap<String, Value>) -> Self {
        for (axis, value) in &mut stored {
            if let Value::Text(text) = value
                && let Some(Kind::Duration { .. }) = Key::find(axis).map(|key| &key.kind)
                && let Ok(duration) = parse_duration(text)
            {
                *value = Value::Duration(duration);
            }
        }
        Self(stored)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn values_are_stored_with_their_types() {
        let point = Point::from_iter([
            ("data.secondary", Value::Boolean(true)),
            ("load.rate", Value::Number(100.0)),
            ("load.think", Value::Duration(Duration::from_secs(60))),
            ("load.threads", Value::Integer(8)),
            ("server.config.timeout", Value::Text("60s".to_owned())),
            (
                "server.url",
                Value::Url("any://u:hidden@h/db".to_owned().into()),
            ),
        ]);
        let stored = serde_json::to_value(&point).unwrap();
        assert_eq!(
            stored,
            serde_json::json!({
                "data.secondary": true, "load.rate": 100.0, "load.think": "1m", "load.threads": 8,
                "server.config.timeout": "60s", "server.url": "any://u:***@h/db",
            })
        );
        assert_eq!(serde_json::from_value::<Point>(stored).unwrap(), point);
    }
}
