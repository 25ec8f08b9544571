//! How MariaDB and MySQL differ.

use client::mysql::{Connection, DIALECT, Mysql};
use plan::StaticSettings;
use rustix::process::Signal;

use super::checks::CHECKS;
use super::checks::defaults::{OF_MARIADB, OF_MYSQL};
use super::galera::Galera;
use super::group_replication::GroupReplication;
use super::{binary_log, log, settings};
use crate::engine::{About, Engine, Flush};
use crate::launch::LogEntries;
use crate::network::{open_url, reopen};
use crate::server::{Server, ServerTraits};

#[derive(Debug)]
pub(crate) struct Flavor {
    about: About,
    pub(super) traits: ServerTraits,
    /// The statements that leave a locked `root` as the only account of a new data directory.
    pub(super) lock_root: &'static str,
    /// The privilege to write to a server that is `read_only`; `None` if `super_read_only` binds
    /// all accounts.
    pub(super) ignores_read_only: Option<&'static str>,
    /// The value of `secure_file_priv` that forbids all files; `None` if only an empty directory
    /// does.
    pub(super) no_files: Option<&'static str>,
    /// Whether the binary log is on by default.
    pub(super) has_binlog: bool,
    pub(super) settings: StaticSettings,
    /// The query for the length of InnoDB's history list, if that is not a status variable.
    pub(super) history_query: Option<&'static str>,
    pub(super) tablespaces: &'static str,
    /// Size of a data directory without tables beyond [`super::server::EMPTY_BYTES`].
    pub(super) more_empty_bytes: u64,
    /// Memory of a server besides its buffer pool, and memory per connection.
    pub(super) memory_bytes: [u64; 2],
}

/// The default of `innodb_io_capacity` would limit the rate of writes, however fast the disk is.
const FLUSH: Flush = Flush {
    start: &[
        "SET @dirty = @@GLOBAL.innodb_max_dirty_pages_pct, @low = @@GLOBAL.innodb_max_dirty_pages_pct_lwm, \
         @io = @@GLOBAL.innodb_io_capacity, @max = @@GLOBAL.innodb_io_capacity_max",
        "SET GLOBAL innodb_io_capacity_max = 100000",
        "SET GLOBAL innodb_io_capacity = 100000",
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0",
        "SET GLOBAL innodb_max_dirty_pages_pct = 0",
    ],
    left: Some((
        "SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_pages_dirty'",
        1,
    )),
    restore: &[
        "SET GLOBAL innodb_max_dirty_pages_pct = @dirty",
        "SET GLOBAL innodb_max_dirty_pages_pct_lwm = @low",
        "SET GLOBAL innodb_io_capacity = @io",
        "SET GLOBAL innodb_io_capacity_max = @max",
    ],
};

/// The options with which a program reads its settings and prints them.
pub(super) const HELP: &[&str] = &["--verbose", "--help"];

pub const MARIADB: &dyn Server = &MARIADB_FLAVOR;
/// Oracle's MySQL.
pub const MYSQL: &dyn Server = &MYSQL_FLAVOR;

const BOTH: ServerTraits = ServerTraits {
    programs: &["mysqld"],
    directories: Vec::new,
    user: "mysql",
    how_to_install: "",
    version_arguments: &["--no-defaults", "--version"],
    config_file: "my.cnf",
    config_option: "--defaults-file",
    // MariaDB has no option for validation.
    validation: HELP,
    stop_signal: Signal::TERM,
    socket: |_| "s.sock".to_owned(),
    url: "mysql://root",
    not_copied: &["auto.cnf", "ib_buffer_pool"],
    process_file: None,
    // InnoDB's redo log: files, or the directory of later versions.
    log_entries: LogEntries {
        prefixes: &["ib_logfile", "#innodb_redo"],
        are_linked: false,
    },
    // The server ends with a clean shutdown that writes everything. Indexes are built from the
    // buffer pool.
    loading_settings: &[
        ("innodb_buffer_pool_size", "512M"),
        ("innodb_flush_log_at_trx_commit", "0"),
        ("innodb_doublewrite", "OFF"),
        ("innodb_fast_shutdown", "0"),
        ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
        ("local_infile", "ON"),
        ("performance_schema", "OFF"),
    ],
    plain_name: settings::plain_name,
    secret_words: settings::SECRET_WORDS,
    reserved_setting: settings::reserved,
    decides_format: settings::decides_format,
    listed: settings::listed,
    wording: log::WORDING,
    initialization_error: log::without_advice,
    set_command: |name, value, live| match live {
        true => format!("SET GLOBAL {name} = {value};"),
        false => format!("{name} = {value} below [mysqld] in its option file, then restart it"),
    },
    changed_settings: "",
    defaults: &[],
    checks: CHECKS,
    replication: &[],
};

pub(super) static MARIADB_FLAVOR: Flavor = Flavor {
    about: About {
        name: "mariadb",
        title: "MariaDB",
        schemes: &["mariadb"],
        url_syntax: "mariadb://USER@HOST:PORT/DATABASE[?socket=FILE]",
        variables: &[],
        dialect: &DIALECT,
        driver: "mysql",
        settle: &[],
        flush: FLUSH,
        open: open_url::<Mysql>,
        reopen: Some(reopen::<Mysql>),
    },
    traits: ServerTraits {
        // Before 10.5, it had MySQL's names, and Debian still links them.
        programs: &["mariadbd", "mysqld"],
        how_to_install: "install Debian's package mariadb-server, run scripts/install-servers.sh mariadb, \
                         or name the directory of another one with server.basedir",
        // Leaves out compiled-in values and those that the server derives from its host.
        changed_settings: "SELECT LOWER(variable_name), global_value \
             FROM information_schema.SYSTEM_VARIABLES \
             WHERE global_value_origin NOT IN ('COMPILE-TIME', 'AUTO') \
               AND NOT (global_value <=> default_value) AND global_value IS NOT NULL \
             ORDER BY variable_name",
        defaults: OF_MARIADB,
        replication: &[
            &binary_log::OF_MARIADB[0],
            &binary_log::OF_MARIADB[1],
            &Galera,
        ],
        ..BOTH
    },
    // The program that runs them does not know accounts yet, only their table.
    lock_root: "DELETE FROM mysql.global_priv WHERE User NOT IN ('root', 'mariadb.sys') \
                OR Host NOT IN ('localhost', '127.0.0.1');\n\
                UPDATE mysql.global_priv SET Priv = \
                JSON_SET(Priv, '$.account_locked', JSON_COMPACT('true')) WHERE User = 'root';\n",
    ignores_read_only: Some("READ ONLY ADMIN"),
    no_files: None,
    has_binlog: false,
    settings: &[],
    history_query: None,
    tablespaces: "INNODB_SYS_TABLESPACES",
    more_empty_bytes: 0,
    memory_bytes: [120 << 20, 300 << 10],
};

pub(super) static MYSQL_FLAVOR: Flavor = Flavor {
    about: About {
        name: "mysql",
        title: "MySQL",
        schemes: &["mysql"],
        url_syntax: "mysql://USER@HOST:PORT/DATABASE[?socket=FILE]",
        variables: &[],
        dialect: &DIALECT,
        driver: "mysql",
        settle: &[],
        flush: FLUSH,
        open: open_url::<Mysql>,
        reopen: Some(reopen::<Mysql>),
    },
    traits: ServerTraits {
        how_to_install: "run scripts/install-servers.sh mysql, which unpacks Debian's package \
                         mysql-server-core, or name the directory of another one with server.basedir",
        validation: &["--validate-config"],
        // It does not report defaults, only the source of each value.
        changed_settings: "SELECT LOWER(i.variable_name), g.variable_value \
             FROM performance_schema.variables_info i \
             JOIN performance_schema.global_variables g USING (variable_name) \
             WHERE i.variable_source <> 'COMPILED' ORDER BY i.variable_name",
        defaults: OF_MYSQL,
        replication: &[
            &binary_log::OF_MYSQL[0],
            &binary_log::OF_MYSQL[1],
            &GroupReplication,
        ],
        ..BOTH
    },
    lock_root: "ALTER USER root@localhost ACCOUNT LOCK;\n\
                CREATE USER root@'127.0.0.1' ACCOUNT LOCK;\n\
                GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;\n",
    ignores_read_only: None,
    no_files: Some("NULL"),
    has_binlog: true,
    // Disables the second protocol.
    settings: &[("mysqlx", "OFF")],
    history_query: Some(
        "SELECT count FROM information_schema.INNODB_METRICS \
         WHERE name = 'trx_rseg_history_len' AND status = 'enabled'",
    ),
    tablespaces: "INNODB_TABLESPACES",
    // Its user tables and two undo logs are separate files.
    more_empty_bytes: 60 << 20,
    memory_bytes: [500 << 20, 700 << 10],
};

impl Flavor {
    pub(super) fn is_mariadb(&self) -> bool {
        self.about.name == MARIADB_FLAVOR.about.name
    }

    pub(super) fn behind(connection: &Connection) -> &'static Self {
        match connection.is_mariadb() {
            true => &MARIADB_FLAVOR,
            false => &MYSQL_FLAVOR,
        }
    }
}

impl Engine for Flavor {
    fn about(&self) -> &About {
        &self.about
    }

    fn server(&self) -> Option<&'static dyn Server> {
        Some(match self.is_mariadb() {
            true => MARIADB,
            false => MYSQL,
        })
    }
}
