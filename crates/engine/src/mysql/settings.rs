//! Names of settings, and which of them are dyno's own, secret, or part of the format of files.

use crate::settings::{Reserved, lists};

/// The setting with Galera's library.
pub(super) const PROVIDER: &str = "wsrep_provider";
/// The setting with the options of Galera's library.
pub(super) const PROVIDER_OPTIONS: &str = "wsrep_provider_options";

/// Settings that determine the format of data files; `*` stands for any ending.
const FORMAT_SETTINGS: &str = "aria_block_size character_set_server collation_server \
     default_table_encryption file_key_management* innodb_checksum_algorithm \
     innodb_compression_algorithm innodb_compression_default innodb_compression_level \
     innodb_data_file_path innodb_default_row_format innodb_encrypt* innodb_file_per_table \
     innodb_page_size innodb_temp_data_file_path innodb_undo_tablespaces lower_case_table_names \
     plugin_load* innodb_default_encryption_key_id";

/// Prefixes that servers strip from a name before they look it up.
const MODIFIERS: [&str; 6] = [
    "loose_", "skip_", "enable_", "disable_", "maximum_", "autoset_",
];

const OWN_PROCESS: &str = "dyno starts the server on a prepared directory, and ends it";
const OWN_ACCOUNT: &str = "each server has a single account, whose password dyno sets at startup";
const OWN_USER: &str = "servers run as an unprivileged user that dyno chooses";
const OWN_LOG: &str = "the error log is kept with the result";
const SECRET: &str =
    "everything in a study is kept with its result, so a password does not belong in it";

/// Settings that only dyno may set, with the reason; `*` stands for any ending.
const RESERVED: Reserved = &[
    ("write it as `server.basedir`", "basedir"),
    ("write it as `server.port`", "port"),
    (
        "each server has a directory of its own, for all its files",
        "datadir pid_file tmpdir innodb_data_home_dir innodb_log_group_home_dir \
         innodb_undo_directory",
    ),
    (
        "each server listens on this host only, on a port and socket of its own",
        "socket bind_address networking extra_port mysqlx* admin_address admin_port \
         create_admin_listener_thread",
    ),
    (
        "dyno makes servers members of a cluster: see `topology.cluster`",
        "wsrep_on wsrep_cluster_address wsrep_node_address wsrep_node_incoming_address \
         wsrep_sst_receive_address wsrep_start_position",
    ),
    (OWN_USER, "user"),
    (OWN_ACCOUNT, "init_file grant_tables"),
    (OWN_LOG, "log_error syslog"),
    (
        OWN_PROCESS,
        "daemonize bootstrap initialize initialize_insecure chroot",
    ),
    (SECRET, "wsrep_sst_auth ssl_passphrase"),
];
/// Names that look like an abbreviation of a reserved setting or like a password, but are neither:
/// servers prefer an exact match.
const HARMLESS: &str = "ssl innodb mysql_native_password disconnect_on_expired_password";
/// A single letter is ambiguous, so servers reject it.
const MIN_ABBREVIATION: usize = 2;
/// The ending of the names of passwords, and its shortest abbreviation.
const PASSWORD: &str = "password";
const MIN_PASSWORD: usize = 2;

/// Words in names of settings whose values may be secrets. `init_` settings hold statements, which
/// may contain a password. Joining a cluster requires its name.
pub(super) const SECRET_WORDS: &str = "password passwd secret token credential private filekey \
     access_key sst_auth init_ cluster_name group_name";

pub(super) fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('-', "_");
    match name.strip_prefix("loose_") {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// The names in the table of variables at the end of a server's help.
pub(super) fn listed(help: &str) -> Vec<String> {
    let table = help.lines().skip_while(|line| !line.starts_with("-----"));
    let names = table
        .skip(1)
        .map_while(|line| line.split_whitespace().next());
    names.map(plain_name).collect()
}

pub(super) fn decides_format(name: &str) -> bool {
    lists(FORMAT_SETTINGS, &plain_name(name))
}

/// Why a study cannot set `name`; `None` if it can. Servers treat `-` as `_`, accept unambiguous
/// abbreviations, and ignore some prefixes as well as everything before a dot.
pub(super) fn reserved(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase().replace('-', "_");
    let after_dot = name.split_once('.').map(|(_, rest)| rest);
    let readings = [Some(name.as_str()), after_dot];
    readings
        .into_iter()
        .flatten()
        .find_map(|name| reserved_name(bare(name)))
}

/// A name without the prefixes that servers strip.
fn bare(mut name: &str) -> &str {
    while let Some(rest) = MODIFIERS.iter().find_map(|word| name.strip_prefix(word)) {
        name = rest;
    }
    name
}

fn reserved_name(bare: &str) -> Option<&'static str> {
    if lists(HARMLESS, bare) {
        return None;
    }
    let last = bare.rsplit('_').next().unwrap_or(bare);
    if last.len() >= MIN_PASSWORD && PASSWORD.starts_with(last) {
        return Some(SECRET);
    }
    let is_beginning_of = |own: &str| bare.len() >= MIN_ABBREVIATION && own.starts_with(bare);
    let is_meant = |own: &str| match own.strip_suffix('*') {
        Some(family) => bare.starts_with(family) || is_beginning_of(family),
        None => is_beginning_of(own),
    };
    let mut known = RESERVED.iter();
    let meant = known.find(|(_, names)| names.split(' ').any(is_meant));
    meant.map(|(why, _)| *why)
}

#[cfg(test)]
mod tests {
    use super::*;
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

    #[test]
    fn settings_of_studies_are_free() {
        let names = "log_error_verbosity skip_name_resolve port_open_timeout log_bin \
                     innodb_log_file_size validate_password.policy hot_cache.key_buffer_size \
                     innodb_data_file_path default_password_lifetime";
        for fine in names.split(' ') {
            assert_eq!(reserved(fine), None, "{fine}");
        }
    }

    #[test]
    fn a_whole_name_is_no_abbreviation_of_another() {
        for whole in HARMLESS.split(' ') {
            for fine in [
                whole.to_uppercase(),
                format!("skip_{whole}"),
                format!("loose_skip_{whole}"),
            ] {
                assert_eq!(reserved(&fine), None, "{fine}");
            }
        }
        for beginning in ["ss", "ssl_p", "innodb_d", "mysql_native_passwor"] {
            assert!(reserved(beginning).is_some(), "{beginning}");
        }
    }

    #[test]
    fn a_reserved_setting_is_refused_in_every_spelling() {
        let names = RESERVED.iter().flat_map(|(_, names)| names.split(' '));
        for typed in names {
            let typed = typed.trim_end_matches('*');
            assert!(reserved(typed).is_some(), "{typed}");
            let shouted = typed.replace('_', "-").to_uppercase();
            assert!(reserved(&shouted).is_some(), "{shouted}");
        }
        let names = "loose-datadir skip_networking skip-loose-log_error datad pi bind-addr \
                     loose_skip_Bind-Addr autoset_port any.bind_address any.skip-netw mysqlx \
                     mysqlx-max-connections admin_addr report_password report_pass";
        for typed in names.split(' ') {
            assert!(reserved(typed).is_some(), "{typed}");
        }
    }

    #[test]
    fn what_may_be_a_secret_is_hidden() {
        for name in [
            "report_password",
            "wsrep_sst_auth",
            "s3_secret_key",
            "hashicorp_key_management_token",
            "file_key_management_filekey",
            "init_connect",
        ] {
            assert!(MARIADB.is_secret(name, "x"), "{name}");
            assert!(!MARIADB.is_secret(name, ""), "{name}");
        }
        assert!(!MARIADB.is_secret("innodb_buffer_pool_size", "1"));
    }

    #[test]
    fn variables_are_those_of_the_table() {
        let help = "Usage: mysqld [OPTIONS]\n  -a, --ansi  Use ANSI.\n\n\
                    Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value\n\
                    --------------------------- -----\nabort-slave-event-count     0\n\
                    back-log                    151\n\nTo see what values\n";
        assert_eq!(listed(help), ["abort_slave_event_count", "back_log"]);
    }
}
