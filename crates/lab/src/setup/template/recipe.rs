//! Everything that determines the content of a template.

use engine::data::Wanted;
use engine::{ENGINES, Engine, Installed, Server, Settings};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workload::schema::TableSpec;

/// Incremented when templates are built differently, so that old ones are not used.
const REVISION: u32 = 3;
const DIGEST_BYTES: usize = 8;

/// What a template is built from; stored with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    revision: u32,
    engine: String,
    pub(crate) version: String,
    build: String,
    /// Settings of the study that determine the format of the files. A value that may be secret is
    /// replaced by its digest.
    format: Vec<(String, String)>,
    tables: Option<Tables>,
    /// Name and digest of the data of a script.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    script: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct Tables {
    tables: u32,
    #[serde(flatten)]
    spec: TableSpec,
}

impl Tables {
    fn of(wanted: &Wanted<'_>) -> Self {
        Self {
            tables: wanted.workload.tables(wanted.options, wanted.users),
            spec: wanted.workload.table_spec(wanted.options, wanted.seed),
        }
    }
}

impl Recipe {
    /// A recipe without tables.
    pub(super) fn empty(installed: &Installed, config: &Settings) -> Self {
        Self {
            revision: REVISION,
            engine: installed.engine.name().to_owned(),
            version: installed.version.clone(),
            build: installed.build.clone(),
            format: format(installed.engine, config),
            tables: None,
            script: None,
        }
    }

    /// A recipe with the tables of a load.
    pub(crate) fn with_data(installed: &Installed, config: &Settings, wanted: &Wanted<'_>) -> Self {
        Self::empty(installed, config).with(wanted)
    }

    fn with(self, wanted: &Wanted<'_>) -> Self {
        let script = wanted.script;
        Self {
            tables: script.is_none().then(|| Tables::of(wanted)),
            script: script.map(|data| format!("{} {}", data.name, data.digest)),
            ..self
        }
    }

    /// Whether this is a recipe of such data, for any version of the server.
    pub(crate) fn is_of(
        &self,
        engine: &dyn Server,
        config: &Settings,
        wanted: &Wanted<'_>,
    ) -> bool {
        let of_any_version = Self {
            revision: REVISION,
            engine: engine.name().to_owned(),
            format: format(engine, config),
            ..self.clone().with(wanted)
        };
        *self == of_any_version
    }

    /// The template's name in the cache: engine, version and size for people, and a digest of
    /// everything.
    pub(super) fn key(&self) -> String {
        let data = match &self.tables {
            Some(tables) => format!("{}x{}", tables.tables, tables.spec.rows),
            None if self.script.is_some() => "script".to_owned(),
            None => "empty".to_owned(),
        };
        // Strings and numbers can always be written as JSON.
        let text = serde_json::to_string(self).unwrap_or_default();
        let digest = digest(&text);
        format!("{}-{}-{data}-{digest}", self.engine, self.version)
    }
}

/// Whether `name` is one that [`Recipe::key`] creates.
pub(super) fn is_key(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let (digest, data, server) = (parts.next(), parts.next(), parts.next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let is_data = |data: &str| {
        let size = data.split_once('x');
        ["empty", "script"].contains(&data)
            || size.is_some_and(|(tables, rows)| is_number(tables) && is_number(rows))
    };
    let is_digest = |text: &str| {
        let is_digit = |c: u8| matches!(c, b'0'..=b'9' | b'a'..=b'f');
        text.len() == 2 * DIGEST_BYTES && text.bytes().all(is_digit)
    };
    let is_server = |server: &str| {
        let (engine, version) = server.split_once('-').unwrap_or_default();
        let mut known = ENGINES.into_iter().filter_map(Engine::server);
        !version.is_empty() && known.any(|known| known.name() == engine)
    };
    digest.is_some_and(is_digest) && data.is_some_and(is_data) && server.is_some_and(is_server)
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let bytes = digest[..DIGEST_BYTES].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Settings of the study that determine the format of the files. A value that may be secret is
/// replaced by its digest.
fn format(engine: &dyn Server, config: &Settings) -> Vec<(String, String)> {
    let mut settings = engine.format_settings(config);
    for (name, value) in &mut settings {
        if engine.is_secret(name, value) {
            *value = digest(value);
        }
    }
    settings
}

#[cfg(test)]
mod tests;
