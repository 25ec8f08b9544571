//! Settings that determine the format of data files.

use super::option_file::plain_name;

/// Settings that determine the format of data files; `*` stands for any ending.
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

pub(super) fn decides(name: &str) -> bool {
    let name = plain_name(name);
    FORMAT_SETTINGS
        .iter()
        .any(|known| match known.strip_suffix('*') {
            Some(stem) => name.starts_with(stem),
            None => name == *known,
        })
}

#[cfg(test)]
mod tests {
    use crate::MARIADB;
    use crate::settings::tests::config;

    #[test]
    fn only_settings_of_the_files_format_count_in_any_spelling() {
        let one = config(&[
            ("innodb-page-size", "8k"),
            ("innodb_buffer_pool_size", "1G"),
            ("Innodb_Encrypt_Tables", "ON"),
            ("loose-plugin-load-add", "x"),
        ]);
        assert_eq!(
            MARIADB.format_settings(&one),
            config(&[
                ("innodb_encrypt_tables", "ON"),
                ("innodb_page_size", "8k"),
                ("loose_plugin_load_add", "x"),
            ])
        );
        let other = config(&[("max_connections", "5")]);
        assert!(MARIADB.format_settings(&other).is_empty());
    }
}
