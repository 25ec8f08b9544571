//! Names of keys as written in a study.

use std::borrow::Cow;

use plan::TextError;
use plan::key::{self, KEYS, Key, Kind};

use crate::setting;

/// The name of a key in a study: one of the table of keys, or that of a setting or an option below
/// such a key.
#[derive(Debug, Clone)]
pub(crate) struct Name {
    pub(crate) key: &'static Key,
    full: Cow<'static, str>,
}

impl Name {
    /// `None` if there is no such key.
    pub(crate) fn find(full: &str) -> Result<Option<Self>, TextError> {
        let mut keys = KEYS.iter();
        if let Some(key) = keys.find(|k| k.name == full) {
            return Ok(Some(Self::of(key)));
        }
        let is_family = |key: &&Key| matches!(key.kind, Kind::Settings | Kind::Options);
        let mut families = KEYS.iter().filter(is_family);
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

    pub(crate) fn full(&self) -> &str {
        &self.full
    }

    /// `threads` of `load.threads`; for a setting, its name on the server.
    pub(crate) fn short(&self) -> &str {
        self.setting().unwrap_or_else(|| key::last(&self.full))
    }

    /// The setting's name on the server, if this is a setting.
    pub(crate) fn setting(&self) -> Option<&str> {
        self.full.strip_prefix(self.key.name)?.strip_prefix('.')
    }
}
