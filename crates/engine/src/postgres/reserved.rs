//! Settings that a study cannot set: the laboratory sets them, or they would run programs, grant
//! access, or contain secrets.

const OWN_FILES: &str = "each server has its own directory for all its files";
const OWN_ADDRESS: &str =
    "each server listens only on an address of its own site and on a Unix socket of its own";
const OWN_ACCOUNT: &str = "dyno decides who can log in, and sets the password at startup";
const OWN_LOG: &str = "the server's log is kept with the result, and dyno reads it";
const OWN_MEMORY: &str = "a server that is killed must not leave shared memory behind";
const PROGRAM: &str =
    "the server would run a program or load a library from outside its installation";
const INCLUDE: &str = "a study contains all settings itself";
const REPLICATION: &str = "whether servers replicate, and how, is `topology.cluster`";
const SECRET: &str =
    "everything in a study is kept with its result, so a password does not belong in it";

/// Names and reasons; `*` stands for any ending.
const RESERVED: [(&str, &str); 47] = [
    ("port", "write it as `server.port`"),
    ("include*", INCLUDE),
    ("data_directory", OWN_FILES),
    ("config_file", OWN_FILES),
    ("hba_file", OWN_FILES),
    ("ident_file", OWN_FILES),
    ("external_pid_file", OWN_FILES),
    ("stats_temp_directory", OWN_FILES),
    ("data_directory_mode", OWN_FILES),
    ("listen_addresses", OWN_ADDRESS),
    ("unix_socket_*", OWN_ADDRESS),
    ("bonjour*", OWN_ADDRESS),
    ("password_encryption", OWN_ACCOUNT),
    ("authentication_timeout", OWN_ACCOUNT),
    ("db_user_namespace", OWN_ACCOUNT),
    ("krb_*", OWN_ACCOUNT),
    ("gss_*", OWN_ACCOUNT),
    ("oauth_*", OWN_ACCOUNT),
    ("ssl*", "dyno's servers do not use TLS"),
    ("log_destination", OWN_LOG),
    ("logging_collector", OWN_LOG),
    ("log_directory", OWN_LOG),
    ("log_filename", OWN_LOG),
    ("log_file_mode", OWN_LOG),
    ("log_line_prefix", OWN_LOG),
    ("log_timezone", OWN_LOG),
    ("log_min_messages", OWN_LOG),
    ("lc_messages", OWN_LOG),
    ("syslog_*", OWN_LOG),
    ("event_source", OWN_LOG),
    ("shared_memory_type", OWN_MEMORY),
    ("dynamic_shared_memory_type", OWN_MEMORY),
    ("archive_command", PROGRAM),
    ("archive_cleanup_command", PROGRAM),
    ("archive_library", PROGRAM),
    ("restore_command", PROGRAM),
    ("recovery_end_command", PROGRAM),
    ("dynamic_library_path", PROGRAM),
    ("extension_control_path", PROGRAM),
    ("jit_provider", PROGRAM),
    ("primary_*", REPLICATION),
    ("synchronous_standby_names", REPLICATION),
    ("promote_trigger_file", REPLICATION),
    ("recovery_target*", REPLICATION),
    ("sync_replication_slots", REPLICATION),
    ("synchronous_standby_names", REPLICATION),
    ("synchronized_standby_slots", REPLICATION),
];
/// Settings that load libraries, which must come from the server's installation.
const LIBRARIES: [&str; 3] = [
    "shared_preload_libraries",
    "session_preload_libraries",
    "local_preload_libraries",
];

/// Why a study cannot set `name`; `None` if it can.
pub(super) fn reserved_setting(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    if name.contains("password") && name != "password_encryption" {
        return Some(SECRET);
    }
    let mut known = RESERVED.iter();
    let found = known.find(|(own, _)| match own.strip_suffix('*') {
        Some(stem) => name.starts_with(stem),
        None => name == *own,
    });
    found.map(|(_, why)| *why)
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
