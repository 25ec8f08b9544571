//! Servers of MariaDB and MySQL, for the laboratory.

use std::net::SocketAddr;
use std::sync::Arc;

use client::connection::LOGIN_LIMIT;
use client::mysql::{Connection, Error, Mysql, Target, TlsOptions};
use ipnet::Ipv4Net;
use measure::finding::check::Check;

use super::flavor::{Flavor, HELP};
use super::reserved::reserved_setting;
use super::{checks, format, log, option_file, programs, root, settings};
use crate::checks::Facts;
use crate::configuration::check_settings;
use crate::database::Database;
use crate::failure::Failure;
use crate::network;
use crate::program::Installed;
use crate::remote::{administer, url_path};
use crate::replication::Replication;
use crate::server::{
    Initialization, Invocation, LOGIN_ATTEMPT_LIMIT, LogEntries, Login, LoginAttempt, Needs, Paths,
    Rejected, Server, ServerFile, same_name,
};
use crate::settings::Settings;

/// The option that names the configuration file.
const CONFIG_OPTION: &str = "--defaults-file";
/// Queries MySQL's RSA public key; MariaDB has none.
const PUBLIC_KEY_STATUS: &str = "SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
/// Name prefixes of InnoDB's redo log: files, or the directory of later versions.
const REDO_LOG: [&str; 2] = ["ib_logfile", "#innodb_redo"];
/// The first statements of a new server.
const FIRST_SQL: &str = "first.sql";
/// The buffer pool while data is loaded, from which indexes are built.
const LOADING_POOL: &str = "512M";
/// Bytes of a row of the load's tables, with its index entry and the pages' fill. Loaded tables of
/// 1 million rows take 252 bytes per row in MySQL and 264 in MariaDB.
const ROW_BYTES: u64 = 270;
/// Size of a data directory without tables, including its log.
pub(super) const EMPTY_BYTES: u64 = 220 << 20;
/// Both engines' default buffer pool.
const DEFAULT_POOL_BYTES: u64 = 128 << 20;
/// Both engines' default size of the redo log.
const DEFAULT_LOG_BYTES: u64 = 100 << 20;

impl Server for Flavor {
    fn programs(&self) -> &'static [&'static str] {
        self.programs
    }

    fn user(&self) -> &'static str {
        "mysql"
    }

    fn how_to_install(&self) -> &'static str {
        self.how_to_install
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--no-defaults", "--version"]
    }

    fn build(&self, printed: &str) -> Result<Option<String>, String> {
        let (_, version) = printed
            .split_once("Ver ")
            .ok_or_else(|| format!("expected its version, but it printed {printed:?}"))?;
        let is_mariadb = printed.contains("MariaDB");
        let build = version.split_whitespace().next().unwrap_or_default();
        let is_this = is_mariadb == (self.name == super::flavor::MARIADB_FLAVOR.name);
        Ok(is_this.then(|| build.to_owned()))
    }

    fn plain_name(&self, name: &str) -> String {
        option_file::plain_name(name)
    }

    fn is_secret(&self, name: &str, value: &str) -> bool {
        settings::is_secret(name, value)
    }

    fn reserved_setting(&self) -> fn(&str) -> Option<&'static str> {
        reserved_setting
    }

    fn check_settings(&self, config: &Settings) -> Result<(), Failure> {
        check_settings(config, "-_.", |name, _| reserved_setting(name))
    }

    fn decides_format(&self, name: &str) -> bool {
        format::decides(name)
    }

    fn loading_settings(&self) -> &'static [(&'static str, &'static str)] {
        // The server ends with a clean shutdown that writes everything.
        &[
            ("innodb_buffer_pool_size", LOADING_POOL),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_doublewrite", "OFF"),
            ("innodb_fast_shutdown", "0"),
            ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
            ("local_infile", "ON"),
            ("performance_schema", "OFF"),
        ]
    }

    fn config_file(&self) -> &'static str {
        "my.cnf"
    }

    fn configuration(&self, installed: &Installed, paths: &Paths, config: &Settings) -> String {
        option_file::my_cnf(self, installed, paths, config)
    }

    fn initialization(
        &self,
        installed: &Installed,
        paths: &Paths,
        format: &Settings,
        database: &str,
    ) -> Result<Initialization, Failure> {
        let sql = format!("{}CREATE DATABASE {database};\n", self.lock_root);
        Ok(Initialization {
            config: option_file::init_cnf(self, installed, paths, format),
            script: (FIRST_SQL, sql),
            run: vec![programs::initialization(
                self.initializer,
                installed,
                paths,
                FIRST_SQL,
            )?],
        })
    }

    fn initialization_failure<'a>(&self, log: &'a str) -> &'a str {
        log.split(log::ADVICE).next().unwrap_or_default()
    }

    fn not_copied(&self) -> &'static [&'static str] {
        &["auto.cnf", "ib_buffer_pool"]
    }

    fn log_entries(&self) -> LogEntries {
        LogEntries {
            prefixes: &REDO_LOG,
            are_linked: false,
        }
    }

    fn files(&self, paths: &Paths, password: &str) -> Vec<ServerFile> {
        vec![ServerFile {
            name: root::INIT_FILE,
            text: root::init_file(paths.address, password, self.ignores_read_only),
            is_temporary: true,
        }]
    }

    fn start(&self, installed: &Installed, paths: &Paths) -> Invocation {
        Invocation::with_config(installed, CONFIG_OPTION, paths, &[])
    }

    fn validation(&self, installed: &Installed, paths: &Paths) -> Invocation {
        Invocation::with_config(installed, CONFIG_OPTION, paths, self.validation)
    }

    fn listing(&self, installed: &Installed, paths: &Paths) -> Invocation {
        Invocation::with_config(installed, CONFIG_OPTION, paths, HELP)
    }

    fn listed(&self, printed: &str) -> Vec<String> {
        variables(printed).map(option_file::plain_name).collect()
    }

    fn rejected(&self, log: &str, config: &Settings) -> Option<Rejected> {
        log::rejected(log, config)
    }

    fn notes(&self, log: &str, config: &Settings) -> Vec<String> {
        log::notes(log, config)
    }

    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure> {
        let target = socket_target(login)?;
        let read_key = async |connection: &mut Connection| {
            let status = connection.rows(PUBLIC_KEY_STATUS).await?;
            let value = status.into_iter().flatten().nth(1).flatten();
            Ok(value.filter(|pem| !pem.is_empty()).map(String::into_bytes))
        };
        Ok(
            match administer(login, &target, LOGIN_ATTEMPT_LIMIT, read_key)? {
                Ok(public_key) => LoginAttempt::Ready { public_key },
                Err(Error::Connect { .. } | Error::Timeout { .. } | Error::Lost(_)) => {
                    LoginAttempt::NotYet
                }
                Err(error) => LoginAttempt::Refused(login.refused(&error)),
            },
        )
    }

    fn set_password(
        &self,
        login: &Login<'_>,
        address: Ipv4Net,
        password: &str,
    ) -> Result<(), Failure> {
        let target = socket_target(login)?;
        let alter = async |connection: &mut Connection| {
            for statement in root::statements(address, password, self.ignores_read_only) {
                connection.run(&statement).await?;
            }
            Ok(())
        };
        let altered = administer(login, &target, LOGIN_LIMIT, alter)?;
        altered.map_err(|error| login.refused(&error))
    }

    fn url(&self, server: SocketAddr, database: &str) -> String {
        format!("mysql://root@{server}/{database}")
    }

    fn connect(
        &self,
        server: SocketAddr,
        database: &str,
        password: &str,
        public_key: Option<&[u8]>,
    ) -> Result<Arc<dyn Database>, Failure> {
        let target = target(&self.url(server, database), password)?;
        // Another program could get the port once this server is dead.
        let target = match public_key {
            Some(pem) => target.with_server_public_key(pem.to_vec()),
            None => target,
        };
        network::open::<Mysql>(vec![target])
    }

    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs {
        let size = |wanted: &str| {
            let mut values = config.iter().rev();
            let (_, value) = values.find(|(name, _)| same_name(self, name, wanted))?;
            plan::parse_bytes(value)
        };
        let log_bytes = size("innodb_log_file_size").or_else(|| size("innodb_redo_log_capacity"));
        let pool_bytes = size("innodb_buffer_pool_size").unwrap_or(DEFAULT_POOL_BYTES);
        let [base, connection] = self.memory_bytes;
        Needs {
            data_bytes: rows
                .saturating_mul(ROW_BYTES)
                .saturating_add(EMPTY_BYTES + self.more_empty_bytes),
            log_bytes: log_bytes
                .unwrap_or(DEFAULT_LOG_BYTES)
                .saturating_sub(DEFAULT_LOG_BYTES),
            // A page in the pool needs some 5 % more for its descriptor and hash entries.
            memory_bytes: (pool_bytes + pool_bytes / 20)
                .saturating_add(base)
                .saturating_add(u64::from(connections).saturating_mul(connection)),
            pool_bytes,
        }
    }

    fn checks(&self) -> Vec<&'static Check<Facts>> {
        checks::checks()
    }

    fn replication(&self) -> &'static [&'static dyn Replication] {
        self.replication
    }

    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let chosen = config.iter().map(|(name, value)| {
            let name = option_file::plain_name(name);
            match name.strip_prefix("skip_") {
                Some(switch) => (switch.to_owned(), "OFF".to_owned()),
                None => (name, value.clone()),
            }
        });
        chosen.collect()
    }

    fn default_settings(&self, version: &str) -> Vec<(&'static str, &'static str)> {
        self.defaults.of(version)
    }

    fn set_command(&self, name: &str, value: &str, live: bool) -> String {
        match live {
            true => format!("SET GLOBAL {name} = {value};"),
            false => {
                format!("{name} = {value} below [mysqld] in its option file, then restart it")
            }
        }
    }
}

/// The names in the table of variables at the end of a server's help.
fn variables(help: &str) -> impl Iterator<Item = &str> {
    help.lines()
        .skip_while(|line| !line.starts_with("-----"))
        .skip(1)
        .map_while(|line| line.split_whitespace().next())
}

/// Only the server's own user can create sockets in its directory, while any user may take a port.
pub(super) fn socket_target(login: &Login<'_>) -> Result<Target, Failure> {
    let path = url_path(login.socket);
    let url = format!("mysql://root@localhost/mysql?socket={path}");
    target(&url, login.password)
}

/// How to log in at `url` as `root`.
fn target(url: &str, password: &str) -> Result<Target, Failure> {
    let tls = TlsOptions::disabled();
    Target::parse(url, Some(password), "root", &tls).map_err(Failure::internal)
}

#[cfg(test)]
mod tests {
    use crate::{MARIADB, MYSQL};

    #[test]
    fn variables_are_those_of_the_table() {
        let help = "Usage: mysqld [OPTIONS]\n  -a, --ansi  Use ANSI.\n\n\
                    Variables (--variable-name=value)\nand boolean options {FALSE|TRUE}  Value\n\
                    --------------------------- -----\nabort-slave-event-count     0\n\
                    back-log                    151\n\nTo see what values\n";
        let expected = ["abort_slave_event_count", "back_log"];
        assert_eq!(MARIADB.listed(help), expected);
    }

    #[test]
    fn a_server_program_is_of_the_engine_that_it_says() {
        let mariadb = "mysqld  Ver 11.4.2-MariaDB for Linux on x86_64";
        let mysql = "mysqld  Ver 9.7.0 for Linux on x86_64";
        let build = |text: &str| Ok(Some(text.to_owned()));
        assert_eq!(MARIADB.build(mariadb), build("11.4.2-MariaDB"));
        assert_eq!(MYSQL.build(mysql), build("9.7.0"));
        assert_eq!(MYSQL.build(mariadb), Ok(None));
        assert_eq!(MARIADB.build(mysql), Ok(None));
        assert!(MYSQL.build("hello").unwrap_err().contains("hello"));
    }
}
