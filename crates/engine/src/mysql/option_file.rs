//! The configuration file of a server: dyno's settings, then the study's.

use std::path::Path;

use plan::is_same_setting;

use super::account::INIT_FILE;
use super::flavor::Flavor;
use super::server::place_options;
use super::settings::{PROVIDER, PROVIDER_OPTIONS, plain_name};
use crate::launch::Paths;
use crate::program::Installed;
use crate::settings::{ConfigurationFile, Settings, allowed_connections};

/// The group that both engines' servers read.
const OPTION_GROUP: &str = "[mysqld]\n";
/// For the program that transfers data to another member: neither end of a transfer can be without
/// the cluster's key.
const TRANSFER_GROUP: &str = "\n[sst]\nssl-mode = VERIFY_CA\n";
/// Turns the binary log on and names its files.
const BINLOG: &str = "log_bin";

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

pub(super) fn my_cnf(
    flavor: &Flavor,
    installed: &Installed,
    paths: &Paths,
    config: &Settings,
) -> String {
    let head = format!(
        "# Server {} of this trial, {}: written by dyno.\n{OPTION_GROUP}",
        paths.number, installed.build
    );
    let mut file = ConfigurationFile::new(head, line);
    file.section(
        "The server's own files, which are not in the system's directories.",
        &place_options(installed),
    );
    let below = |name: &str| paths.own.join(name).display().to_string();
    file.section(
        "Its own directory, port and socket; it listens only on this host.",
        &[
            ("datadir", paths.data.display().to_string()),
            ("tmpdir", below("tmp")),
            ("socket", paths.socket.display().to_string()),
            ("pid_file", below("pid")),
            ("port", paths.port.to_string()),
            ("bind_address", paths.address.addr().to_string()),
        ],
    );
    if let Some(log) = &paths.log {
        file.section(
            "Its redo log is on a volume of its own, and so is the binary log if there is one.",
            &[("innodb_log_group_home_dir", log.display().to_string())],
        );
    }
    let init_file = paths.dir.join(INIT_FILE).display().to_string();
    file.section(
        "Only the account root can log in. dyno sets its password at each start.",
        &[("init_file", init_file)],
    );
    let closed = || paths.closed.display().to_string();
    let no_files = flavor.no_files.map_or_else(closed, str::to_owned);
    file.section(
        "Statements read and write no files, unless the study names a directory for them.",
        &[("secure_file_priv", no_files)],
    );
    file.section(
        "Clients' addresses are not looked up in DNS.",
        &[("skip_name_resolve", "ON")],
    );
    let connections = allowed_connections(paths.connections);
    file.section(
        "Connections for every virtual user; the server raises its limit of open files to match.",
        &[("max_connections", connections.to_string())],
    );
    let sets = |wanted: &str| config.iter().any(|(name, _)| is_same_setting(name, wanted));
    // `skip_log_bin` would override the study's `log_bin`, whichever comes last.
    if flavor.has_binlog && !sets(BINLOG) {
        file.section(
            "As in MariaDB, there is no binary log unless the study asks for one.",
            &[("skip_log_bin", "")],
        );
    }
    file.section("No X Protocol.", flavor.settings);
    let mut settings = joined(config);
    if let Some(log) = &paths.log {
        let is_binlog = |(name, _): &&mut (String, String)| is_same_setting(name, BINLOG);
        for (_, value) in settings.iter_mut().filter(is_binlog) {
            *value = binlog_in(log, value);
        }
    }
    let text = file.finish(settings.iter());
    match sets(PROVIDER) {
        true => text + TRANSFER_GROUP,
        false => text,
    }
}

/// The base name of a binary log in `dir`, unless the study names another directory.
fn binlog_in(dir: &Path, value: &str) -> String {
    let name = match value.to_ascii_lowercase().as_str() {
        "" | "1" | "on" | "true" => "binlog",
        "0" | "off" | "false" => return value.to_owned(),
        _ => value,
    };
    // An absolute path stays as it is.
    dir.join(name).display().to_string()
}

/// The options of Galera's library are a single setting: those that make the server a member are
/// added to the study's, and take precedence.
fn joined(config: &Settings) -> Vec<(String, String)> {
    let is_options = |(name, _): &&(String, String)| is_same_setting(name, PROVIDER_OPTIONS);
    let options = config.iter().filter(is_options).rev();
    let options: Vec<&str> = options.map(|(_, value)| value.as_str()).collect();
    let others = config.iter().filter(|one| !is_options(one)).cloned();
    let all = (PROVIDER_OPTIONS.to_owned(), options.join("; "));
    let all = (!options.is_empty()).then_some(all);
    others.chain(all).collect()
}

/// The file for the program that fills a new data directory.
pub(super) fn init_cnf(
    flavor: &Flavor,
    installed: &Installed,
    paths: &Paths,
    format: &Settings,
) -> String {
    let tmpdir = paths.own.join("tmp").display().to_string();
    let no_files = flavor
        .no_files
        .map(|word| ("secure_file_priv", word.to_owned()));
    let own = place_options(installed).into_iter();
    let own = own.chain([("tmpdir", tmpdir)]).chain(no_files);
    let own = own.map(|(name, value)| line(name, &value));
    let format = format.iter().map(|(name, value)| line(name, value));
    let lines: String = own.chain(format).collect();
    format!("{OPTION_GROUP}{lines}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_binary_log_moves_unless_the_study_names_its_directory() {
        let dir = Path::new("/mnt/log");
        for (value, moved) in [
            ("", "/mnt/log/binlog"),
            ("ON", "/mnt/log/binlog"),
            ("mine", "/mnt/log/mine"),
            ("/else/where", "/else/where"),
            ("off", "off"),
        ] {
            assert_eq!(binlog_in(dir, value), moved);
        }
    }

    #[test]
    fn values_survive_the_files_own_rules() {
        assert_eq!(line("a", "256M"), "a = 256M\n");
        assert_eq!(line("sql_mode", ""), "sql_mode = \n");
        assert_eq!(line("skip-log-bin", ""), "skip-log-bin\n");
        let expected = "init_connect = \"SET @a='#1'\"\n";
        assert_eq!(line("init_connect", "SET @a='#1'"), expected);
        assert_eq!(line("a", "\"quoted\""), "a = \"\\\"quoted\\\"\"\n");
        assert_eq!(line("a", "c:\\new"), "a = c:\\\\new\n");
    }
}
