//! Everything that decides the bytes of a template.

use engine::data::Wanted;
use engine::{ENGINES, Engine, Installed, Server};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workload::schema::TableSpec;

/// Goes up when a template is made differently, so that old ones are not used.
const REVISION: u32 = 2;
/// Bytes of a digest.
const DIGEST_BYTES: usize = 8;

/// What a template is made of; kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    revision: u32,
    /// Its name.
    engine: String,
    version: String,
    build: String,
    /// The study's settings that decide the form of the files; of a value that may be a
    /// secret its digest.
    format: Vec<(String, String)>,
    tables: Option<Tables>,
}

/// The tables of a template.
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
    /// An initialised server without tables.
    pub(super) fn empty(installed: &Installed, config: &[(String, String)]) -> Self {
        Self {
            revision: REVISION,
            engine: installed.engine.name().to_owned(),
            version: installed.version.clone(),
            build: installed.build.clone(),
            format: format(installed.engine, config),
            tables: None,
        }
    }

    /// The same with the tables of a load.
    pub(crate) fn with_data(
        installed: &Installed,
        config: &[(String, String)],
        wanted: &Wanted<'_>,
    ) -> Self {
        Self {
            tables: Some(Tables::of(wanted)),
            ..Self::empty(installed, config)
        }
    }

    /// Whether it is one of this data, whatever the version of the server.
    pub(super) fn is_of(
        &self,
        engine: &dyn Server,
        config: &[(String, String)],
        wanted: &Wanted<'_>,
    ) -> bool {
        let of_any_version = Self {
            revision: REVISION,
            engine: engine.name().to_owned(),
            format: format(engine, config),
            tables: Some(Tables::of(wanted)),
            ..self.clone()
        };
        *self == of_any_version
    }

    /// The version of the server.
    pub(super) fn version(&self) -> &str {
        &self.version
    }

    /// Its name in the cache: what people want to know of it, and a digest of all.
    pub(super) fn key(&self) -> String {
        let data = match &self.tables {
            Some(tables) => format!("{}x{}", tables.tables, tables.spec.rows),
            None => "empty".to_owned(),
        };
        // A struct of texts and numbers has a form in JSON.
        let text = serde_json::to_string(self).unwrap_or_default();
        let digest = digest(&text);
        format!("{}-{}-{data}-{digest}", self.engine, self.version)
    }
}

/// Whether [`Recipe::key`] gives such names.
pub(super) fn is_key(name: &str) -> bool {
    let mut parts = name.rsplitn(3, '-');
    let (digest, data, server) = (parts.next(), parts.next(), parts.next());
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    let is_data = |data: &str| {
        let size = data.split_once('x');
        data == "empty" || size.is_some_and(|(tables, rows)| is_number(tables) && is_number(rows))
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

/// The study's settings that decide the format of the files; of a value that may be a secret its
/// digest.
fn format(engine: &dyn Server, config: &[(String, String)]) -> Vec<(String, String)> {
    let mut settings = engine.format_settings(config);
    for (name, value) in &mut settings {
        if engine.is_secret(name, value) {
            *value = digest(value);
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use workload::distribution::Distribution;
    use workload::name::WorkloadName;
    use workload::options::Options;

    fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

    fn recipe(change: impl Fn(&mut Options), seed: u64, settings: &[(&str, &str)]) -> Recipe {
        let mut options = Options::default();
        change(&mut options);
        let wanted = Wanted {
            workload: WorkloadName::OltpReadWrite,
            options: &options,
            seed,
            users: 4,
            mode: engine::data::Mode::Missing,
            connections: 2,
            stall_limit: load::STALL_LIMIT,
        };
        let installed = Installed::nowhere(engine::MARIADB, "10.11.14");
        Recipe::with_data(&installed, &config(settings), &wanted)
    }

    fn key(change: impl Fn(&mut Options), seed: u64, settings: &[(&str, &str)]) -> String {
        recipe(change, seed, settings).key()
    }

    #[test]
    fn only_generated_names_are_templates() {
        assert!(is_key("mysql-9.7.0-empty-0123456789abcdef"));
        assert!(is_key("mariadb-10.11-rc-2x3-0123456789abcdef"));
        for name in [
            "emails",
            "mysql-9.7.0-empty-0123456789abcdef.lock",
            "mysql-9.7.0-empty-0123456789abcde",
            "mysql-9.7.0-full-0123456789abcdef",
            "mysql-9.7.0-2x-0123456789abcdef",
            "mysql--empty-0123456789abcdef",
            "oracle-23-empty-0123456789abcdef",
        ] {
            assert!(!is_key(name), "{name}");
        }
    }

    #[test]
    fn a_secret_counts_and_is_not_kept() {
        let with = |secret| recipe(|_| {}, 1, &[("file-key-management-filekey", secret)]);
        let (one, other) = (with("sesame"), with("mellon"));
        assert!(one != other && one.key() != other.key() && one == with("sesame"));
        let kept = serde_json::to_string(&one).unwrap();
        assert!(kept.contains("file_key_management_filekey") && !kept.contains("sesame"));
        let plain = recipe(|_| {}, 1, &[("innodb_page_size", "8k")]);
        assert!(serde_json::to_string(&plain).unwrap().contains("8k"));
    }

    #[test]
    fn whatever_changes_the_bytes_changes_the_key_and_nothing_else_does() {
        let usual = key(|_| {}, 1, &[]);
        assert!(usual.starts_with("mariadb-10.11.14-1x10000-"), "{usual}");
        assert!(is_key(&usual));
        assert_eq!(
            usual,
            key(
                |options| options.point_selects = 3,
                1,
                &[("sync_binlog", "1")]
            )
        );
        let others = [
            key(|_| {}, 2, &[]),
            key(|options| options.rows = 9, 1, &[]),
            key(|options| options.tables = 2, 1, &[]),
            key(|options| options.secondary = true, 1, &[]),
            key(|options| options.auto_inc = false, 1, &[]),
            key(|options| options.create_secondary = false, 1, &[]),
            key(
                |options| options.distribution = Distribution::Uniform,
                1,
                &[],
            ),
            key(
                |options| options.storage_engine = "myisam".to_owned(),
                1,
                &[],
            ),
            key(|_| {}, 1, &[("innodb_page_size", "8k")]),
        ];
        let all: std::collections::BTreeSet<&String> = others.iter().chain([&usual]).collect();
        assert_eq!(all.len(), 10);
    }
}
