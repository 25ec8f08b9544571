//! Everything that decides the bytes of a template.

use data::Wanted;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use workload::schema::TableSpec;

use crate::servers::{Engine, Installed, plain_name, same_name};
use crate::settings;

/// Goes up when a template is made differently, so that old ones are not used.
const REVISION: u32 = 2;
/// Bytes of a digest.
const DIGEST_BYTES: usize = 8;

/// Settings that decide the form of the files: a template made with other ones does
/// not fit. Those ending in `*` name all that begin so.
const FORMAT_SETTINGS: [&str; 19] = [
    "aria_block_size",
    "character_set_server",
    "collation_server",
    "default_table_encryption",
    "file_key_management*",
    "innodb_checksum_algorithm",
    "innodb_compression_algorithm",
    "innodb_compression_default",
    "innodb_compression_level",
    "innodb_data_file_path",
    "innodb_default_row_format",
    "innodb_encrypt*",
    "innodb_file_per_table",
    "innodb_page_size",
    "innodb_temp_data_file_path",
    "innodb_undo_tablespaces",
    "lower_case_table_names",
    "plugin_load*",
    "innodb_default_encryption_key_id",
];

/// What a template is made of; kept beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    revision: u32,
    engine: Engine,
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
            engine: installed.engine,
            version: installed.version.clone(),
            build: installed.build.clone(),
            format: without_secrets(format_settings(config)),
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
        engine: Engine,
        config: &[(String, String)],
        wanted: &Wanted<'_>,
    ) -> bool {
        let of_any_version = Self {
            revision: REVISION,
            engine,
            format: without_secrets(format_settings(config)),
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
        format!("{}-{}-{data}-{digest}", self.engine.name(), self.version)
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
        let engines = [Engine::MariaDb, Engine::MySql];
        !version.is_empty() && engines.iter().any(|known| known.name() == engine)
    };
    digest.is_some_and(is_digest) && data.is_some_and(is_data) && server.is_some_and(is_server)
}

fn digest(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    let bytes = digest[..DIGEST_BYTES].iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

fn without_secrets(mut settings: Vec<(String, String)>) -> Vec<(String, String)> {
    for (name, value) in &mut settings {
        if settings::is_secret(name, value) {
            *value = digest(value);
        }
    }
    settings
}

/// The study's settings that decide the form of the files, in one order and spelling.
pub(super) fn format_settings(config: &[(String, String)]) -> Vec<(String, String)> {
    let decides = |name: &str| {
        FORMAT_SETTINGS
            .iter()
            .any(|known| match known.strip_suffix('*') {
                Some(stem) => plain_name(name).starts_with(stem),
                None => same_name(name, known),
            })
    };
    let mut settings: Vec<(String, String)> = config
        .iter()
        .filter(|(name, _)| decides(name))
        .map(|(name, value)| (name.to_ascii_lowercase().replace('-', "_"), value.clone()))
        .collect();
    // Stable: of two values of one setting the last still wins.
    settings.sort_by(|one, two| one.0.cmp(&two.0));
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

    #[test]
    fn only_settings_of_the_files_form_count_in_any_spelling() {
        let one = config(&[
            ("innodb-page-size", "8k"),
            ("innodb_buffer_pool_size", "1G"),
            ("Innodb_Encrypt_Tables", "ON"),
            ("loose-plugin-load-add", "x"),
        ]);
        assert_eq!(
            format_settings(&one),
            config(&[
                ("innodb_encrypt_tables", "ON"),
                ("innodb_page_size", "8k"),
                ("loose_plugin_load_add", "x"),
            ])
        );
        assert!(format_settings(&config(&[("max_connections", "5")])).is_empty());
    }

    fn recipe(change: impl Fn(&mut Options), seed: u64, settings: &[(&str, &str)]) -> Recipe {
        let mut options = Options::default();
        change(&mut options);
        let wanted = Wanted {
            workload: WorkloadName::OltpReadWrite,
            options: &options,
            seed,
            users: 4,
            mode: data::Mode::Missing,
            connections: 2,
            stall_limit: load::STALL_LIMIT,
        };
        let installed = Installed::for_tests(Engine::MariaDb, "10.11.14");
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
