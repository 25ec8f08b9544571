//! How MariaDB and MySQL differ.

use client::mysql::Connection;

use super::binary_log;
use super::checks::defaults::{Defaults, OF_MARIADB, OF_MYSQL};
use super::galera::Galera;
use super::group_replication::GroupReplication;
use super::programs::Initializer;
use crate::replication::Replication;
use crate::server::Server;

/// MariaDB or MySQL.
#[derive(Debug)]
pub(crate) struct Flavor {
    /// The name in a study, and the scheme of URLs.
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) schemes: &'static [&'static str],
    /// Names of the server program, preferred first.
    pub(super) programs: &'static [&'static str],
    pub(super) how_to_install: &'static str,
    /// How a data directory is initialized.
    pub(super) initializer: Initializer,
    /// The statements that leave a locked `root` as the only account of a new data directory.
    pub(super) lock_root: &'static str,
    /// The privilege to write to a server that is `read_only`; `None` if `super_read_only` binds
    /// all accounts.
    pub(super) ignores_read_only: Option<&'static str>,
    /// The arguments with which the program checks its settings and exits.
    pub(super) validation: &'static [&'static str],
    /// The value of `secure_file_priv` that forbids all files; `None` if only an empty directory
    /// does.
    pub(super) no_files: Option<&'static str>,
    /// Whether the binary log is on by default.
    pub(super) has_binlog: bool,
    pub(super) defaults: Defaults,
    /// Settings of every server.
    pub(super) settings: &'static [(&'static str, &'static str)],
    /// The query for settings that differ from the defaults.
    pub(super) changed_settings: &'static str,
    /// The query for the length of InnoDB's history list, if that is not a status variable.
    pub(super) history_query: Option<&'static str>,
    /// The table of InnoDB's tablespaces.
    pub(super) tablespaces: &'static str,
    /// Size of a data directory without tables beyond [`super::server::EMPTY_BYTES`].
    pub(super) more_empty_bytes: u64,
    pub(super) replication: &'static [&'static dyn Replication],
    /// Memory of a server besides its buffer pool, and memory per connection.
    pub(super) memory_bytes: [u64; 2],
}

/// The options with which a program reads its settings and prints them.
pub(super) const HELP: &[&str] = &["--verbose", "--help"];

pub const MARIADB: &dyn Server = &MARIADB_FLAVOR;
/// Oracle's MySQL.
pub const MYSQL: &dyn Server = &MYSQL_FLAVOR;

pub(super) static MARIADB_FLAVOR: Flavor = Flavor {
    name: "mariadb",
    title: "MariaDB",
    schemes: &["mariadb"],
    // Before 10.5, it had MySQL's names, and Debian still links them.
    programs: &["mariadbd", "mysqld"],
    how_to_install: "install Debian's package mariadb-server, run scripts/install-servers.sh mariadb, or \
                     name the directory of another one with server.basedir",
    initializer: Initializer::Script,
    // The program that runs them does not know accounts yet, only their table.
    lock_root: "DELETE FROM mysql.global_priv WHERE User NOT IN ('root', 'mariadb.sys') \
                OR Host NOT IN ('localhost', '127.0.0.1');\n\
                UPDATE mysql.global_priv SET Priv = \
                JSON_SET(Priv, '$.account_locked', JSON_COMPACT('true')) WHERE User = 'root';\n",
    ignores_read_only: Some("READ ONLY ADMIN"),
    // It has no option for validation.
    validation: HELP,
    no_files: None,
    has_binlog: false,
    defaults: OF_MARIADB,
    settings: &[],
    // Settings that someone changed from the compiled-in value, without those that the server
    // derives from its host.
    changed_settings: "SELECT LOWER(variable_name), global_value \
         FROM information_schema.SYSTEM_VARIABLES \
         WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') \
           AND NOT (global_value <=> default_value) AND global_value IS NOT NULL \
         ORDER BY variable_name",
    history_query: None,
    tablespaces: "INNODB_SYS_TABLESPACES",
    more_empty_bytes: 0,
    replication: &[
        binary_log::MARIADB_ASYNCHRONOUS,
        binary_log::MARIADB_SEMI_SYNCHRONOUS,
        &Galera,
    ],
    memory_bytes: [120 << 20, 300 << 10],
};

pub(super) static MYSQL_FLAVOR: Flavor = Flavor {
    name: "mysql",
    title: "MySQL",
    schemes: &["mysql"],
    programs: &["mysqld"],
    how_to_install: "run scripts/install-servers.sh mysql, which unpacks Debian's package \
                     mysql-server-core, or name the directory of another one with server.basedir",
    initializer: Initializer::Server,
    lock_root: "ALTER USER root@localhost ACCOUNT LOCK;\n\
                CREATE USER root@'127.0.0.1' ACCOUNT LOCK;\n\
                GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n",
    ignores_read_only: None,
    validation: &["--validate-config"],
    no_files: Some("NULL"),
    has_binlog: true,
    defaults: OF_MYSQL,
    // Disables the second protocol.
    settings: &[("mysqlx", "OFF")],
    // It does not report defaults, only the source of each value.
    changed_settings: "SELECT LOWER(i.variable_name), g.variable_value \
         FROM performance_schema.variables_info i \
         JOIN performance_schema.global_variables g USING (variable_name) \
         WHERE i.variable_source <> 'COMPILED' ORDER BY i.variable_name",
    history_query: Some(
        "SELECT count FROM information_schema.INNODB_METRICS \
         WHERE name = 'trx_rseg_history_len' AND status = 'enabled'",
    ),
    tablespaces: "INNODB_TABLESPACES",
    // Its user tables and two undo logs are separate files.
    more_empty_bytes: 60 << 20,
    replication: &[
        binary_log::MYSQL_ASYNCHRONOUS,
        binary_log::MYSQL_SEMI_SYNCHRONOUS,
        &GroupReplication,
    ],
    memory_bytes: [500 << 20, 700 << 10],
};

impl Flavor {
    /// The engine at the other end.
    pub(super) fn of(connection: &Connection) -> &'static Self {
        match connection.is_mariadb() {
            true => &MARIADB_FLAVOR,
            false => &MYSQL_FLAVOR,
        }
    }
}
