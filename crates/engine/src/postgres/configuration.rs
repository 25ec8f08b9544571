//! Configuration files: settings and access rules.

use ipnet::Ipv4Net;
use nix::unistd::{Uid, User};

use super::settings::decides_format;
use crate::launch::{Paths, ServerFile};
use crate::program::Installed;
use crate::settings::{ConfigurationFile, Settings, allowed_connections};

/// The superuser. Only dyno's own user can log in to it, and only through the Unix socket.
pub(super) const SUPERUSER: &str = "postgres";
/// The role of loads and monitors: the owner of the database, not a superuser.
pub(super) const ROLE: &str = "dyno";
/// The role that standbys log in to; only clusters have it.
pub(super) const REPLICATION_ROLE: &str = "dyno_replication";
pub(super) const HBA_FILE: &str = "pg_hba.conf";
/// The file that maps the host's users to roles.
pub(super) const IDENT_FILE: &str = "pg_ident.conf";

pub(super) fn postgresql_conf(installed: &Installed, paths: &Paths, config: &Settings) -> String {
    let head = format!(
        "# Server {} of this trial, PostgreSQL {}: written by dyno.\n",
        paths.number, installed.build
    );
    let mut file = ConfigurationFile::new(head, line);
    let in_dir = |name: &str| paths.dir.join(name).display().to_string();
    file.section(
        "Its own directory, port and socket; it listens only on this host.",
        &[
            ("data_directory", paths.data.display().to_string()),
            ("hba_file", in_dir(HBA_FILE)),
            ("ident_file", in_dir(IDENT_FILE)),
            ("listen_addresses", paths.address.addr().to_string()),
            ("port", paths.port.to_string()),
            ("unix_socket_directories", paths.own.display().to_string()),
            ("unix_socket_permissions", "0700".to_owned()),
            ("password_encryption", "scram-sha-256".to_owned()),
        ],
    );
    file.section(
        "A log that dyno reads.",
        &[
            ("log_destination", "stderr"),
            ("logging_collector", "off"),
            ("log_line_prefix", "%m [%p] "),
            ("log_timezone", "UTC"),
            ("lc_messages", "C"),
        ],
    );
    file.section(
        "A killed server leaves no shared memory behind.",
        &[
            ("shared_memory_type", "mmap"),
            ("dynamic_shared_memory_type", "mmap"),
        ],
    );
    file.section(
        "initdb's values on most hosts; connections for every virtual user.",
        &[
            ("shared_buffers", "128MB"),
            (
                "max_connections",
                &allowed_connections(paths.connections).to_string(),
            ),
            ("timezone", "UTC"),
        ],
    );
    file.finish(config.iter().filter(|(name, _)| !decides_format(name)))
}

/// `postgresql.conf` for the first statements of a new data directory, which run in single-user
/// mode.
pub(super) fn initial_conf() -> String {
    let settings = [
        ("dynamic_shared_memory_type", "mmap"),
        ("exit_on_error", "on"),
        // The laboratory writes the files to disk.
        ("fsync", "off"),
    ];
    settings.map(|(name, value)| line(name, value)).concat()
}

/// A setting's line. Quotes are always allowed, even for numbers.
fn line(name: &str, value: &str) -> String {
    let quoted = value.replace('\\', "\\\\").replace('\'', "''");
    format!("{name} = '{quoted}'\n")
}

/// Access rules: the superuser through the socket if the client is dyno's user or `other`, the role
/// of loads over TCP, with its password, from the network of the server's address, and `further`
/// rules. PostgreSQL rejects everything else.
pub(super) fn access_files(
    address: Ipv4Net,
    other: Option<&str>,
    further: &str,
) -> [ServerFile; 2] {
    let network = address.trunc();
    let hba = format!(
        "local all {SUPERUSER} peer map=dyno\n\
         host all {ROLE} {network} scram-sha-256\n\
         host replication {REPLICATION_ROLE} {network} scram-sha-256\n\
         {further}"
    );
    // PostgreSQL rejects peer authentication of a user without a name.
    let own = User::from_uid(Uid::effective()).ok().flatten();
    let own = own.map(|user| user.name);
    let names = own.iter().map(String::as_str).chain(other);
    let line = |name: &str| {
        let name = name.replace('"', "\"\"");
        format!("dyno \"{name}\" {SUPERUSER}\n")
    };
    let ident: String = names.map(line).collect();
    [(HBA_FILE, hba), (IDENT_FILE, ident)].map(|(name, text)| ServerFile::new(name, text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_survive_the_rules_of_the_file() {
        assert_eq!(line("work_mem", "4MB"), "work_mem = '4MB'\n");
        assert_eq!(line("a", "it's #1"), "a = 'it''s #1'\n");
        assert_eq!(line("a", "c:\\new"), "a = 'c:\\\\new'\n");
    }
}
