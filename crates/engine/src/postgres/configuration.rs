//! The files that a server reads: its settings, and who may log in.

use nix::unistd::{Uid, User};

use super::format;
use super::reserved::{reserved_setting, reserved_value};
use crate::error::EngineError;
use crate::program::Installed;
use crate::server::{Paths, ServerFile, Settings};

/// The superuser, as whom only dyno's own user can log in, and only through the Unix socket.
pub(super) const SUPERUSER: &str = "postgres";
/// The role of loads and monitors: the owner of the database, and no superuser.
pub(super) const ROLE: &str = "dyno";
/// The role with which standbys log in; only clusters have it.
pub(super) const REPLICATION_ROLE: &str = "dyno_replication";
/// Who may log in, and from where.
const HBA_FILE: &str = "pg_hba.conf";
/// Which user of the host is which role.
const IDENT_FILE: &str = "pg_ident.conf";
/// Connections that are always allowed, so that the default settings do not refuse a load.
const MIN_CONNECTIONS: u32 = 1000;
/// For monitors and the superuser.
const SPARE_CONNECTIONS: u32 = 50;

/// Rejects settings that cannot be written or that are not the study's to make.
///
/// # Errors
/// The first of them, with the reason.
pub(super) fn check_settings(config: &Settings) -> Result<(), EngineError> {
    for (name, value) in config {
        let bad = |why| EngineError::BadSetting {
            name: name.clone(),
            why,
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "_.".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
            return Err(bad("this is not the name of a setting"));
        }
        // A line break would begin another setting.
        if value.chars().any(char::is_control) {
            return Err(bad(
                "its value contains a line break or another control character",
            ));
        }
        if let Some(why) = reserved_setting(name).or_else(|| reserved_value(name, value)) {
            let name = name.clone();
            return Err(EngineError::ReservedSetting { name, why });
        }
    }
    Ok(())
}

/// Connections that a server allows if it is to serve this many users.
pub(super) fn allowed_connections(users: u32) -> u32 {
    users.saturating_add(SPARE_CONNECTIONS).max(MIN_CONNECTIONS)
}

/// `postgresql.conf`.
pub(super) fn postgresql_conf(installed: &Installed, paths: &Paths, config: &Settings) -> String {
    let mut text = format!(
        "# Server {} of this trial, PostgreSQL {}: written by dyno.\n",
        paths.number, installed.build
    );
    let mut section = |comment: &str, settings: &[(&str, String)]| {
        text.push_str(&format!("\n# {comment}\n"));
        for (name, value) in settings {
            text.push_str(&line(name, value));
        }
    };
    let in_dir = |name: &str| paths.dir.join(name).display().to_string();
    let own = |value: &str| value.to_owned();
    section(
        "Its own directory, port and socket; it listens only on this host.",
        &[
            ("data_directory", paths.data.display().to_string()),
            ("hba_file", in_dir(HBA_FILE)),
            ("ident_file", in_dir(IDENT_FILE)),
            ("listen_addresses", own("127.0.0.1")),
            ("port", paths.port.to_string()),
            ("unix_socket_directories", paths.own.display().to_string()),
            ("unix_socket_permissions", own("0700")),
            ("password_encryption", own("scram-sha-256")),
        ],
    );
    section(
        "A log that dyno reads.",
        &[
            ("log_destination", own("stderr")),
            ("logging_collector", own("off")),
            ("log_line_prefix", own("%m [%p] ")),
            ("log_timezone", own("UTC")),
            ("lc_messages", own("C")),
        ],
    );
    section(
        "A server that is killed leaves no shared memory behind.",
        &[
            ("shared_memory_type", own("mmap")),
            ("dynamic_shared_memory_type", own("mmap")),
        ],
    );
    section(
        "What initdb writes on a usual host; connections for every virtual user.",
        &[
            ("shared_buffers", own("128MB")),
            (
                "max_connections",
                allowed_connections(paths.connections).to_string(),
            ),
            ("timezone", own("UTC")),
        ],
    );
    let study: Vec<(&str, String)> = config
        .iter()
        .filter(|(name, _)| !format::decides(name))
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    if !study.is_empty() {
        section("The study's settings, which override those above.", &study);
    }
    text
}

/// `postgresql.conf` for the first statements of a new data directory, which run without a
/// server.
pub(super) fn initial_conf() -> String {
    let settings = [
        ("dynamic_shared_memory_type", "mmap"),
        ("exit_on_error", "on"),
        // The laboratory writes the files to disk.
        ("fsync", "off"),
    ];
    settings.map(|(name, value)| line(name, value)).concat()
}

/// One setting. Quotes are always allowed, also for numbers.
fn line(name: &str, value: &str) -> String {
    let quoted = value.replace('\\', "\\\\").replace('\'', "''");
    format!("{name} = '{quoted}'\n")
}

/// Who may log in: the superuser through the socket if the kernel says that the client is
/// dyno's user, the role of loads over TCP with its password. PostgreSQL refuses all others.
pub(super) fn access_files() -> Vec<ServerFile> {
    let file = |name, text| ServerFile {
        name,
        text,
        is_temporary: false,
    };
    let hba = format!(
        "local all {SUPERUSER} peer map=dyno\n\
         host all {ROLE} 127.0.0.1/32 scram-sha-256\n\
         host replication {REPLICATION_ROLE} 127.0.0.1/32 scram-sha-256\n"
    );
    // Without a name PostgreSQL could not tell who connects, and refuses.
    let user = User::from_uid(Uid::effective()).ok().flatten();
    let ident = user.map(|user| {
        let name = user.name.replace('"', "\"\"");
        format!("dyno \"{name}\" {SUPERUSER}\n")
    });
    vec![
        file(HBA_FILE, hba),
        file(IDENT_FILE, ident.unwrap_or_default()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, value: &str) -> Result<(), String> {
        let config = [(name.to_owned(), value.to_owned())];
        check_settings(&config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_value_cannot_leave_its_line() {
        assert_eq!(check("work_mem", "1GB"), Ok(()));
        assert_eq!(check("pg_stat_statements.track", "all"), Ok(()));
        assert_eq!(check("search_path", ""), Ok(()));
        for (name, value) in [
            ("a", "1\nport = 1"),
            ("a", "1\rb"),
            ("", "1"),
            ("a=b", "1"),
            ("a b", "1"),
            ("1a", "1"),
            ("ä", "1"),
        ] {
            assert!(check(name, value).is_err(), "{name:?} {value:?}");
        }
        assert!(check("port", "1").unwrap_err().contains("server.port"));
        assert!(check("shared_preload_libraries", "/tmp/x").is_err());
    }

    #[test]
    fn values_survive_the_rules_of_the_file() {
        assert_eq!(line("work_mem", "4MB"), "work_mem = '4MB'\n");
        assert_eq!(line("a", "it's #1"), "a = 'it''s #1'\n");
        assert_eq!(line("a", "c:\\new"), "a = 'c:\\\\new'\n");
    }
}
