//! Servers of MariaDB and MySQL, for the laboratory.

use std::path::{Path, PathBuf};

use client::mysql::Connection;
use plan::Failure;

use super::account::{self, unlock_root};
use super::flavor::{Flavor, HELP};
use super::{option_file, settings};
use crate::launch::{
    Initialization, Invocation, LOGIN_ATTEMPT_LIMIT, Login, LoginAttempt, Needs, Paths, ServerFile,
};
use crate::program::{Installed, bad_program, on_path};
use crate::remote::administer;
use crate::server::{Server, ServerTraits};
use crate::settings::{Settings, check_settings};

/// Queries MySQL's RSA public key; MariaDB has none.
const PUBLIC_KEY_STATUS: &str = "SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key'";
/// The first statements of a new server.
const FIRST_SQL: &str = "first.sql";
/// Bytes of a row of the load's tables, with its index entry and the pages' fill. Loaded tables of
/// 1 million rows take 252 bytes per row in MySQL and 264 in MariaDB.
const ROW_BYTES: u64 = 270;
/// Size of a data directory without tables, including its log.
pub(super) const EMPTY_BYTES: u64 = 220 << 20;
/// Both engines' defaults.
const DEFAULT_POOL_BYTES: u64 = 128 << 20;
const DEFAULT_LOG_BYTES: u64 = 100 << 20;
const LOG_CAPACITY: &str = "innodb_redo_log_capacity";
/// MySQL's defaults of `innodb_log_file_size` and `innodb_log_files_in_group`, which apply once
/// either of them is set.
const DEFAULT_LOG_FILE_BYTES: u64 = 48 << 20;
const DEFAULT_LOG_FILES: u64 = 2;

impl Server for Flavor {
    fn traits(&self) -> &ServerTraits {
        &self.traits
    }

    fn build(&self, printed: &str) -> Result<Option<String>, String> {
        let (_, version) = printed
            .split_once("Ver ")
            .ok_or_else(|| format!("expected its version, but it printed {printed:?}"))?;
        let is_mariadb = printed.contains("MariaDB");
        let build = version.split_whitespace().next().unwrap_or_default();
        Ok((is_mariadb == self.is_mariadb()).then(|| build.to_owned()))
    }

    fn check_settings(&self, config: &Settings) -> Result<(), Failure> {
        check_settings(config, "-_.", |name, _| settings::reserved(name))
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
            run: vec![self.initializer(installed, paths)?],
        })
    }

    fn files(&self, paths: &Paths, password: &str) -> Vec<ServerFile> {
        let statements = unlock_root(paths.address, password, self.ignores_read_only);
        let text = format!("{};\n", statements.join(";\n"));
        vec![ServerFile {
            is_temporary: true,
            ..ServerFile::new(account::INIT_FILE, text)
        }]
    }

    fn listing(&self, installed: &Installed, paths: &Paths) -> Invocation {
        let mut listing = (self as &dyn Server).start(installed, paths);
        listing.arguments.extend(HELP.iter().map(Into::into));
        listing
    }

    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure> {
        let read_key = async |connection: &mut Connection| {
            let status = connection.rows(PUBLIC_KEY_STATUS).await?;
            let value = status.into_iter().flatten().nth(1).flatten();
            Ok(value.filter(|pem| !pem.is_empty()).map(String::into_bytes))
        };
        let result = administer(login, LOGIN_ATTEMPT_LIMIT, read_key)?;
        Ok(login.attempted(result))
    }

    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs {
        let pool_bytes = size(config, "innodb_buffer_pool_size").unwrap_or(DEFAULT_POOL_BYTES);
        let [base, connection] = self.memory_bytes;
        Needs {
            data_bytes: rows
                .saturating_mul(ROW_BYTES)
                .saturating_add(EMPTY_BYTES + self.more_empty_bytes),
            log_bytes: self
                .log_bytes(config)
                .unwrap_or(DEFAULT_LOG_BYTES)
                .saturating_sub(DEFAULT_LOG_BYTES),
            // A page in the pool needs some 5 % more for its descriptor and hash entries.
            memory_bytes: pool_bytes
                .saturating_add(pool_bytes / 20)
                .saturating_add(base)
                .saturating_add(u64::from(connections).saturating_mul(connection)),
            pool_bytes,
        }
    }

    /// MySQL computes the log's capacity from older settings and reports it as a setting.
    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let capacity = self.log_bytes(config).filter(|_| !self.is_mariadb());
        let capacity = capacity.map(|bytes| (LOG_CAPACITY.to_owned(), bytes.to_string()));
        let chosen = config.iter().map(|(name, value)| {
            let name = settings::plain_name(name);
            match name.strip_prefix("skip_") {
                Some(switch) => (switch.to_owned(), "OFF".to_owned()),
                None => (name, value.clone()),
            }
        });
        chosen.chain(capacity).collect()
    }
}

/// The size that a setting of the study has; if it is set repeatedly, the last value counts.
fn size(config: &Settings, wanted: &str) -> Option<u64> {
    let mut values = config.iter().rev();
    let (_, value) = values.find(|(name, _)| plan::is_same_setting(name, wanted))?;
    plan::parse_bytes(value)
}

/// Options for a server outside the system's directories that tell it where its own files are.
pub(super) fn place_options(installed: &Installed) -> Vec<(&'static str, String)> {
    let Some(base) = &installed.basedir else {
        return Vec::new();
    };
    // The unpacked tree of a package, whose server was built for /usr.
    let tree = base.join("usr");
    if !tree.join("share/mysql").is_dir() {
        return vec![("basedir", base.display().to_string())];
    }
    let below = |sub: &str| tree.join(sub).display().to_string();
    vec![
        ("basedir", tree.display().to_string()),
        ("lc_messages_dir", below("share/mysql")),
        ("character_sets_dir", below("share/mysql/charsets")),
        ("plugin_dir", below("lib/mysql/plugin")),
    ]
}

impl Flavor {
    /// Size of the redo log; `None` if the study leaves it at its default. Since 10.5, MariaDB has
    /// a single log file.
    fn log_bytes(&self, config: &Settings) -> Option<u64> {
        let file = size(config, "innodb_log_file_size");
        if self.is_mariadb() {
            return file;
        }
        size(config, LOG_CAPACITY).or_else(|| {
            let files = size(config, "innodb_log_files_in_group");
            let bytes = file.unwrap_or(DEFAULT_LOG_FILE_BYTES);
            let all = bytes.saturating_mul(files.unwrap_or(DEFAULT_LOG_FILES));
            (file.is_some() || files.is_some()).then_some(all)
        })
    }

    /// The program that initializes a data directory: MariaDB's own, MySQL's server.
    fn initializer(&self, installed: &Installed, paths: &Paths) -> Result<Invocation, Failure> {
        let script = paths.dir.join(FIRST_SQL);
        let mut arguments = vec![
            paths.config_option("--defaults-file"),
            format!("--datadir={}", paths.data.display()),
        ];
        if !self.is_mariadb() {
            arguments.push("--initialize-insecure".to_owned());
            arguments.push(format!("--init-file={}", script.display()));
            return Ok(Invocation::new(&installed.program, arguments));
        }
        let options = [
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
            "--cross-bootstrap",
        ];
        arguments.extend(options.map(str::to_owned));
        arguments.push(format!("--extra-file={}", script.display()));
        if let Some(base) = &installed.basedir {
            arguments.push(format!("--basedir={}", base.display()));
        }
        Ok(Invocation::new(install_program(installed)?, arguments))
    }
}

/// MariaDB's program for initializing a data directory.
fn install_program(installed: &Installed) -> Result<PathBuf, Failure> {
    let names = ["mariadb-install-db", "mysql_install_db"];
    let places = match &installed.basedir {
        Some(base) => ["bin", "scripts", "usr/bin"]
            .map(|sub| base.join(sub))
            .to_vec(),
        None => {
            let beside = installed.program.parent().unwrap_or(Path::new("/"));
            vec![
                beside.to_owned(),
                beside.join("../bin"),
                beside.join("../scripts"),
            ]
        }
    };
    let all = names
        .iter()
        .flat_map(|name| places.iter().map(move |dir| dir.join(name)));
    let mut programs = all.chain(names.iter().flat_map(|name| on_path(name)));
    programs
        .find(|program| program.is_file())
        .ok_or_else(|| bad_program(&installed.program, "its mariadb-install-db is missing"))
}

#[cfg(test)]
mod tests {
    use crate::settings::tests::config;
    use crate::{MARIADB, MYSQL};

    #[test]
    fn the_size_of_the_log_follows_from_the_settings_that_count() {
        let (capacity, size, files) = (
            ("loose_innodb_redo_log_capacity", "1G"),
            ("innodb-log-file-size", "512M"),
            ("innodb_log_files_in_group", "4"),
        );
        let cases: [(&[_], u64, u64); 6] = [
            (&[], 100, 100),
            (&[capacity], 100, 1024),
            (&[size], 512, 1024),
            (&[files], 100, 192),
            (&[size, files], 512, 2048),
            (&[size, files, capacity], 512, 1024),
        ];
        for (settings, mariadb_mb, mysql_mb) in cases {
            let config = config(settings);
            for (server, mb) in [(MARIADB, mariadb_mb), (MYSQL, mysql_mb)] {
                let needs = server.needs(&config, 1, 1);
                assert_eq!(needs.log_bytes, (mb - 100) << 20, "{server}: {settings:?}");
            }
            let planned = MYSQL.planned_settings("9.7.0", 1, &config);
            let known = plan::parse_bytes(&planned["innodb_redo_log_capacity"]);
            assert_eq!(known, Some(mysql_mb << 20), "{settings:?}");
        }
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
