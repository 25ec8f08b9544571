//! The configuration file of a server: dyno's settings, then the study's.

use super::flavor::Flavor;
use super::programs::place_options;
use super::reserved::reserved_setting;
use super::root;
use crate::error::EngineError;
use crate::program::Installed;
use crate::server::{Paths, Settings};

/// The group that both engines' servers read.
const OPTION_GROUP: &str = "[mysqld]\n";
/// Connections that are always allowed: making them costs nothing, and a load that
/// is refused at the 152nd user is no measurement.
const MIN_CONNECTIONS: u32 = 1000;
/// For monitors, and for somebody who looks.
const SPARE_CONNECTIONS: u32 = 50;

/// Refuses settings that cannot be written or are reserved.
///
/// # Errors
/// The first of them, with the reason.
pub(super) fn check_settings(config: &Settings) -> Result<(), EngineError> {
    for (name, value) in config {
        let bad = |why| EngineError::BadSetting {
            name: name.clone(),
            why,
        };
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(fits) {
            return Err(bad("this is no setting's name"));
        }
        // A line break would begin another setting.
        if value.chars().any(char::is_control) {
            return Err(bad(
                "its value has a line break or another control character",
            ));
        }
        if let Some(why) = reserved_setting(name) {
            let name = name.clone();
            return Err(EngineError::ReservedSetting { name, why });
        }
    }
    Ok(())
}

/// Whether two spellings name the same setting: servers take `-` for `_`.
pub(super) fn same_name(one: &str, two: &str) -> bool {
    plain_name(one) == plain_name(two)
}

/// A setting's name as the server knows it.
pub(super) fn plain_name(name: &str) -> String {
    let name = name.to_ascii_lowercase().replace('-', "_");
    match name.strip_prefix("loose_") {
        Some(rest) => rest.to_owned(),
        None => name,
    }
}

/// One setting's line.
fn line(name: &str, value: &str) -> String {
    // An option that only switches something off takes no value.
    if value.is_empty() && plain_name(name).starts_with("skip_") {
        return format!("{name}\n");
    }
    let escaped = value.replace('\\', "\\\\");
    let begins_comment = value.contains('#') || value.contains(';');
    let is_quoted = value.starts_with(['"', '\'', ' ']) || value.ends_with(['"', '\'', ' ']);
    if begins_comment || is_quoted {
        return format!("{name} = \"{}\"\n", escaped.replace('"', "\\\""));
    }
    format!("{name} = {escaped}\n")
}

/// Connections that a server allows which is to have so many.
pub(super) fn allowed_connections(users: u32) -> u32 {
    users.saturating_add(SPARE_CONNECTIONS).max(MIN_CONNECTIONS)
}

/// The whole file.
pub(super) fn my_cnf(
    flavor: &Flavor,
    installed: &Installed,
    paths: &Paths,
    config: &Settings,
) -> String {
    let mut text = format!(
        "# Server {} of this trial, {}: written by dyno.\n{OPTION_GROUP}",
        paths.number, installed.build
    );
    let mut section = |comment: &str, settings: &[(&str, String)]| {
        text.push_str(&format!("\n# {comment}\n"));
        for (name, value) in settings {
            text.push_str(&line(name, value));
        }
    };
    let program = place_options(installed);
    if !program.is_empty() {
        section(
            "Where its own files are: it is not one of the system's.",
            &program,
        );
    }
    let below = |name: &str| paths.own.join(name).display().to_string();
    section(
        "A directory, a port and a socket of its own; it listens on this host only.",
        &[
            ("datadir", paths.data.display().to_string()),
            ("tmpdir", below("tmp")),
            ("socket", paths.socket.display().to_string()),
            ("pid_file", below("pid")),
            ("port", paths.port.to_string()),
            ("bind_address", "127.0.0.1".to_owned()),
        ],
    );
    section(
        "Only its root account can log in, whose password dyno sets anew at each start.",
        &[(
            "init_file",
            paths.dir.join(root::INIT_FILE).display().to_string(),
        )],
    );
    let no_files = match flavor.no_files {
        Some(word) => word.to_owned(),
        None => paths.closed.display().to_string(),
    };
    section(
        "Statements read and write no files, unless the study names a directory for them.",
        &[("secure_file_priv", no_files)],
    );
    section(
        "No name service is asked about a client's address.",
        &[("skip_name_resolve", "ON".to_owned())],
    );
    let connections = allowed_connections(paths.connections);
    section(
        "Enough for every virtual user; the server takes the open files that this needs.",
        &[("max_connections", connections.to_string())],
    );
    if flavor.has_binlog {
        section(
            "As in MariaDB, there is no binary log unless the study asks for one.",
            &binlog_off(config),
        );
    }
    if !flavor.settings.is_empty() {
        let own = flavor.settings.iter();
        let own: Vec<_> = own
            .map(|(name, value)| (*name, (*value).to_owned()))
            .collect();
        section("No second protocol.", &own);
    }
    if !config.is_empty() {
        let study: Vec<(&str, String)> = config
            .iter()
            .map(|(name, value)| (name.as_str(), value.clone()))
            .collect();
        section("The study's settings: they stand last and win.", &study);
    }
    text
}

/// The file for the program that fills a new data directory.
pub(super) fn init_cnf(
    flavor: &Flavor,
    installed: &Installed,
    paths: &Paths,
    format: &Settings,
) -> String {
    let mut text = OPTION_GROUP.to_owned();
    for (name, value) in place_options(installed) {
        text.push_str(&line(name, &value));
    }
    text.push_str(&line(
        "tmpdir",
        &paths.own.join("tmp").display().to_string(),
    ));
    if let Some(word) = flavor.no_files {
        text.push_str(&line("secure_file_priv", word));
    }
    for (name, value) in format {
        text.push_str(&line(name, value));
    }
    text
}

/// `skip_log_bin` would beat the study's `log_bin`, whichever stands last.
fn binlog_off(config: &Settings) -> Vec<(&'static str, String)> {
    let asks = config.iter().any(|(name, _)| same_name(name, "log_bin"));
    if asks {
        return Vec::new();
    }
    vec![("skip_log_bin", String::new())]
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
        assert_eq!(check("innodb-buffer-pool-size", "1G"), Ok(()));
        assert_eq!(check("sql_mode", ""), Ok(()));
        assert_eq!(
            check("hello.world", "a b\tc".trim_end_matches("\tc")),
            Ok(())
        );
        for (name, value) in [
            ("a", "1\ndatadir = /"),
            ("a", "1\rb"),
            ("[client]", "1"),
            ("!include", "/etc/passwd"),
            ("", "1"),
            ("a=b", "1"),
            ("ä", "1"),
        ] {
            assert!(check(name, value).is_err(), "{name:?} {value:?}");
        }
    }

    #[test]
    fn what_is_dynos_is_refused_in_every_spelling() {
        for name in ["port", "DATADIR", "pid-file", "loose-bind_addr", "a.bind"] {
            let refused = check(name, "1").unwrap_err();
            assert!(refused.contains("is dyno's own"), "{name}: {refused}");
        }
        assert_eq!(check("Data-Dir", "1"), Ok(()));
        assert!(check("port", "1").unwrap_err().contains("server.port"));
    }

    #[test]
    fn values_survive_the_files_own_rules() {
        assert_eq!(line("a", "256M"), "a = 256M\n");
        assert_eq!(line("sql_mode", ""), "sql_mode = \n");
        assert_eq!(line("skip-log-bin", ""), "skip-log-bin\n");
        assert_eq!(
            line("init_connect", "SET @a='#1'"),
            "init_connect = \"SET @a='#1'\"\n"
        );
        assert_eq!(line("a", "\"quoted\""), "a = \"\\\"quoted\\\"\"\n");
        assert_eq!(line("a", "c:\\new"), "a = c:\\\\new\n");
    }
}
