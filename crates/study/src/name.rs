//! The names of keys as a study writes them.

use std::borrow::Cow;

use plan::key::{self, KEYS, Key, Kind};

use crate::error::Fault;
use crate::setting;

/// A key by the name that it has in a study: one of the table, or one of the
/// many settings that `server.config` stands for.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) key: &'static Key,
    full: Cow<'static, str>,
}

impl Name {
    /// `None` if there is no such key; a fault if it is a setting that a study
    /// cannot have.
    pub(crate) fn find(full: &str) -> Result<Option<Self>, Fault> {
        let mut keys = KEYS.iter();
        if let Some(key) = keys.find(|k| k.name == full) {
            return Ok(Some(Self::of(key)));
        }
        let mut families = KEYS.iter().filter(|k| matches!(k.kind, Kind::Settings));
        let member =
            families.find_map(|k| Some((k, full.strip_prefix(k.name)?.strip_prefix('.')?)));
        let Some((key, setting)) = member else {
            return Ok(None);
        };
        let full = Cow::Owned(format!("{}.{}", key.name, setting::name(setting)?));
        Ok(Some(Self { key, full }))
    }

    pub(crate) fn of(key: &'static Key) -> Self {
        Self {
            key,
            full: Cow::Borrowed(key.name),
        }
    }

    /// The dotted name.
    pub(crate) fn full(&self) -> &str {
        &self.full
    }

    /// `threads` of `load.threads`; of a setting the name that the server knows.
    pub(crate) fn short(&self) -> &str {
        self.setting().unwrap_or_else(|| key::last(&self.full))
    }

    /// The name that the server knows, if this is one of its settings.
    pub(crate) fn setting(&self) -> Option<&str> {
        self.full.strip_prefix(self.key.name)?.strip_prefix('.')
    }
}
