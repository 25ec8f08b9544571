//! Settings: their values as PostgreSQL reads them, those that determine the format of data files, and
//! those that a study cannot set because the laboratory sets them, or because they would run programs,
//! grant access, or contain secrets.

use plan::Failure;

use crate::settings::{Reserved, Settings, bad_setting, lists, switch};

/// The unit of `shared_buffers`.
pub(super) const PAGE_BYTES: u64 = 8192;
/// The unit of `max_wal_size`.
pub(super) const MEGABYTE: u64 = 1 << 20;
/// The longest suffixes first.
const UNITS: [(&str, u64); 5] = [
    ("TB", 1 << 40),
    ("GB", 1 << 30),
    ("MB", MEGABYTE),
    ("kB", 1 << 10),
    ("B", 1),
];
/// In milliseconds, the longest suffixes first.
const TIMES: [(&str, f64); 6] = [
    ("min", 60_000.0),
    ("us", 0.001),
    ("ms", 1.0),
    ("s", 1000.0),
    ("h", 3_600_000.0),
    ("d", 86_400_000.0),
];
/// Words in names of settings whose values may be secrets; commands may contain any secret.
pub(super) const SECRET_WORDS: &str =
    "conninfo _command password passphrase secret token credential private";
const CHECKSUMS: &str = "data_checksums";
const SEGMENT: &str = "wal_segment_size";
/// The sizes that `initdb` accepts.
const SEGMENT_MEGABYTES: std::ops::RangeInclusive<u64> = 1..=1024;

const OWN_ADDRESS: &str =
    "each server listens only on an address of its own site and on a Unix socket of its own";
const OWN_MEMORY: &str = "a server that is killed must not leave shared memory behind";
const PROGRAM: &str =
    "the server would run a program or load a library from outside its installation";
const INCLUDE: &str = "a study contains all settings itself";
const SECRET: &str =
    "everything in a study is kept with its result, so a password does not belong in it";

/// Names and reasons; `*` stands for any ending.
const RESERVED: Reserved = &[
    ("write it as `server.port`", "port"),
    (INCLUDE, "include*"),
    (
        "each server has its own directory for all its files",
        "data_directory config_file hba_file ident_file external_pid_file stats_temp_directory \
         data_directory_mode",
    ),
    (OWN_ADDRESS, "listen_addresses unix_socket_* bonjour*"),
    (
        "dyno decides who can log in, and sets the password at startup",
        "password_encryption authentication_timeout db_user_namespace krb_* gss_* oauth_*",
    ),
    ("dyno's servers do not use TLS", "ssl*"),
    (
        "the server's log is kept with the result, and dyno reads it",
        "log_destination logging_collector log_directory log_filename log_file_mode \
         log_line_prefix log_timezone log_min_messages lc_messages syslog_* event_source",
    ),
    (OWN_MEMORY, "shared_memory_type dynamic_shared_memory_type"),
    (
        PROGRAM,
        "archive_command archive_cleanup_command archive_library restore_command \
         recovery_end_command dynamic_library_path extension_control_path jit_provider",
    ),
    (
        "whether servers replicate, and how, is `topology.cluster`",
        "primary_* synchronous_standby_names promote_trigger_file recovery_target* \
         sync_replication_slots synchronized_standby_slots",
    ),
];
/// Settings that load libraries, which must come from the server's installation.
const LIBRARIES: [&str; 3] = [
    "shared_preload_libraries",
    "session_preload_libraries",
    "local_preload_libraries",
];

/// The value of a setting; the last one counts if there are several.
pub(super) fn value_of<'a>(config: &'a Settings, name: &str) -> Option<&'a str> {
    let mut values = config.iter().rev();
    let found = values.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value.as_str())
}

/// A size in bytes: a number with a unit, or one that counts in `unit_bytes`.
pub(super) fn bytes(value: &str, unit_bytes: u64) -> Option<u64> {
    let (number, unit_bytes) = split_unit(value, &UNITS, unit_bytes);
    number.parse::<u64>().ok()?.checked_mul(unit_bytes)
}

/// A time in milliseconds: a number with a unit, or one that counts in `unit_ms`. -1 means none.
pub(super) fn ms(value: &str, unit_ms: f64) -> Option<f64> {
    let (number, unit_ms) = split_unit(value, &TIMES, unit_ms);
    let number: f64 = number.parse().ok()?;
    number.is_finite().then_some(number * unit_ms)
}

/// Splits a value such as `16MB` into its number and the size of its unit.
fn split_unit<'a, U: Copy>(value: &'a str, units: &[(&str, U)], default: U) -> (&'a str, U) {
    let value = value.trim();
    let mut units = units.iter();
    let with_unit = units.find_map(|(unit, size)| Some((value.strip_suffix(unit)?, *size)));
    let (number, size) = with_unit.unwrap_or((value, default));
    (number.trim(), size)
}

/// A size among the settings of a study, in bytes.
pub(super) fn size(config: &Settings, name: &str, unit_bytes: u64) -> Option<u64> {
    bytes(value_of(config, name)?, unit_bytes)
}

/// Whether `initdb` fixes the setting: the server shows it but cannot change it.
pub(super) fn decides_format(name: &str) -> bool {
    [CHECKSUMS, SEGMENT].contains(&name.to_ascii_lowercase().as_str())
}

/// `initdb`'s options for a data directory with these settings. Whether checksums are on by default
/// depends on its version.
pub(super) fn initdb_options(
    config: &Settings,
    has_checksums: bool,
) -> Result<Vec<String>, Failure> {
    let mut options = Vec::new();
    if let Some(value) = value_of(config, CHECKSUMS) {
        match switch(value) {
            Some(true) => options.push("--data-checksums".to_owned()),
            Some(false) if has_checksums => options.push("--no-data-checksums".to_owned()),
            Some(false) => {}
            None => return Err(bad_setting(CHECKSUMS, "initdb takes on or off")),
        }
    }
    if let Some(value) = value_of(config, SEGMENT) {
        let megabytes = bytes(value, 1).map_or(0, |bytes| bytes / MEGABYTE);
        if !SEGMENT_MEGABYTES.contains(&megabytes) || !megabytes.is_power_of_two() {
            return Err(bad_setting(
                SEGMENT,
                "initdb takes a power of two from 1MB to 1024MB",
            ));
        }
        options.push(format!("--wal-segsize={megabytes}"));
    }
    Ok(options)
}

pub(super) fn reserved_setting(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if name.contains("password") && name != "password_encryption" {
        return Some(SECRET);
    }
    let mut known = RESERVED.iter();
    let found = known.find(|(_, names)| lists(names, &name));
    found.map(|(why, _)| *why)
}

/// Why a study cannot set `name` to this value; `None` if it can.
pub(super) fn reserved_value(name: &str, value: &str) -> Option<&'static str> {
    let is_library = LIBRARIES.iter().any(|own| name.eq_ignore_ascii_case(own));
    (is_library && value.contains(['/', '$'])).then_some(PROGRAM)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_postgresqls_units() {
        assert_eq!(ms("5min", 1000.0), Some(300_000.0));
        assert_eq!(ms(" 1.5 s", 1.0), Some(1500.0));
        assert_eq!(ms("30", 1000.0), Some(30_000.0));
        assert_eq!(ms("-1", 1.0), Some(-1.0));
        for bad in ["", "s", "5 years", "nan", "inf"] {
            assert_eq!(ms(bad, 1.0), None, "{bad}");
        }
    }

    #[test]
    fn sizes_have_postgresqls_units() {
        assert_eq!(bytes("128MB", PAGE_BYTES), Some(128 << 20));
        assert_eq!(bytes(" 4 kB", PAGE_BYTES), Some(4096));
        assert_eq!(bytes("16384", PAGE_BYTES), Some(128 << 20));
        for bad in ["", "MB", "1.5GB", "-1", "1M", "99999999TB"] {
            assert_eq!(bytes(bad, 1), None, "{bad}");
        }
    }

    fn of(name: &str, value: &str) -> Option<Vec<String>> {
        initdb_options(&[(name.to_owned(), value.to_owned())], false).ok()
    }

    #[test]
    fn settings_of_the_format_are_options_of_initdb() {
        let one = |option: &str| Some(vec![option.to_owned()]);
        assert_eq!(of("Data_Checksums", "on"), one("--data-checksums"));
        assert_eq!(of("data_checksums", "OFF"), Some(Vec::new()));
        let off = [("data_checksums".to_owned(), "off".to_owned())];
        assert_eq!(initdb_options(&off, true).unwrap(), ["--no-data-checksums"]);
        assert_eq!(of("wal_segment_size", "1GB"), one("--wal-segsize=1024"));
        assert_eq!(of("shared_buffers", "1GB"), Some(Vec::new()));
        for (name, value) in [
            ("data_checksums", "maybe"),
            ("wal_segment_size", "64"),
            ("wal_segment_size", "3MB"),
            ("wal_segment_size", "2GB"),
        ] {
            assert_eq!(of(name, value), None, "{name} {value}");
        }
    }

    #[test]
    fn what_opens_doors_or_runs_programs_is_refused() {
        let names = "data_directory Listen_Addresses unix_socket_directories ssl \
                     ssl_passphrase_command log_directory include_if_exists archive_command \
                     primary_conninfo my_extension.password";
        for name in names.split(' ') {
            assert!(reserved_setting(name).is_some(), "{name}");
        }
        let names = "shared_buffers log_statement log_checkpoints archive_mode wal_level timezone \
                     pg_stat_statements.max";
        for name in names.split(' ') {
            assert_eq!(reserved_setting(name), None, "{name}");
        }
    }

    #[test]
    fn libraries_come_from_the_installation() {
        let name = "Shared_Preload_Libraries";
        assert_eq!(
            reserved_value(name, "pg_stat_statements, auto_explain"),
            None
        );
        assert!(reserved_value(name, "/tmp/x").is_some());
        assert!(reserved_value(name, "$libdir/../x").is_some());
        assert_eq!(reserved_value("search_path", "\"$user\""), None);
    }
}
