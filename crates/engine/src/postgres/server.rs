//! PostgreSQL's servers, for the laboratory.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use client::postgres::Connection;
use plan::Failure;
use rustix::process::Signal;

use super::configuration::{self, ROLE, SUPERUSER};
use super::settings::{
    self, MEGABYTE, PAGE_BYTES, initdb_options, reserved_setting, reserved_value, size,
};
use super::{Postgres, checks, log, streaming};
use crate::launch::{
    Initialization, Invocation, LOGIN_ATTEMPT_LIMIT, LogEntries, Login, LoginAttempt, Needs, Paths,
    ServerFile,
};
use crate::program::{Installed, bad_program};
use crate::remote::{administer, first_cell};
use crate::server::{Server, ServerTraits};
use crate::settings::{Settings, check_settings};
use crate::version;

/// The interval between login attempts while the server recovers, since it logs each of them.
const RECOVERY_INTERVAL: Duration = Duration::from_millis(50);
/// The answer of a server that is starting or ending.
const CANNOT_CONNECT_NOW: &str = "57P03";
/// The version whose `initdb` turns data checksums on by default.
const CHECKSUMS_SINCE: u64 = 18;
/// The version that introduced the role `pg_checkpoint`.
const CHECKPOINT_ROLE_SINCE: u64 = 15;
/// The first statements of a new server.
const FIRST_SQL: &str = "first.sql";
/// Where distributions install the programs of each version: a directory, and what precedes the
/// version in the names below it.
const VERSIONS: [(&str, &str); 2] = [("/usr/lib/postgresql", ""), ("/usr", "pgsql-")];
/// Bytes of a row of the load's tables with its index entries, measured with 300,000 rows.
const ROW_BYTES: u64 = 270;
/// Size of a data directory without tables, including its log.
const EMPTY_BYTES: u64 = 64 << 20;
/// PostgreSQL's default of `shared_buffers`.
const DEFAULT_POOL_BYTES: u64 = 128 << 20;
/// PostgreSQL's default of `max_wal_size`, which the log of a load soon reaches.
const DEFAULT_LOG_BYTES: u64 = 1 << 30;
/// Memory of a server besides its buffers, and memory per connection.
const BASE_BYTES: u64 = 96 << 20;
const CONNECTION_BYTES: u64 = 5 << 20;

pub(super) static TRAITS: ServerTraits = ServerTraits {
    programs: &["postgres"],
    directories,
    user: "postgres",
    how_to_install: "install Debian's package postgresql, run scripts/install-servers.sh postgres, or name \
                     the directory of another one with server.basedir",
    version_arguments: &["--version"],
    config_file: "postgresql.conf",
    config_option: "--config-file",
    validation: &[],
    // SIGTERM would wait until every client has left.
    stop_signal: Signal::INT,
    socket: |port| format!(".s.PGSQL.{port}"),
    url: "postgres://dyno",
    not_copied: &["postmaster.opts", "postmaster.pid"],
    process_file: Some("postmaster.pid"),
    // As `initdb --waldir` creates them.
    log_entries: LogEntries {
        prefixes: &["pg_wal"],
        are_linked: true,
    },
    // The laboratory writes the files to disk after the server has ended.
    loading_settings: &[
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
        // Standbys cannot recover from a copy with a minimal log.
        ("wal_level", "replica"),
        ("max_wal_senders", "0"),
        ("max_wal_size", "4GB"),
        ("checkpoint_timeout", "1h"),
        // Otherwise, every copy would contain the segments of this load.
        ("wal_recycle", "off"),
        ("shared_buffers", "256MB"),
        ("maintenance_work_mem", "256MB"),
        ("autovacuum", "off"),
    ],
    plain_name: str::to_ascii_lowercase,
    secret_words: settings::SECRET_WORDS,
    reserved_setting,
    decides_format: settings::decides_format,
    listed: |printed| {
        let names = printed.lines().filter_map(|line| line.split('\t').next());
        names.map(str::to_ascii_lowercase).collect()
    },
    wording: log::WORDING,
    initialization_error: |log| log,
    set_command: |name, value, live| {
        let then = match live {
            true => "SELECT pg_reload_conf();",
            false => "then restart it",
        };
        format!("ALTER SYSTEM SET {name} = '{value}'; {then}")
    },
    // Leaves out what dyno sets in its own sessions, and what the server decides when it starts
    // (`override`). Values are shown with their units.
    changed_settings: "SELECT name, current_setting(name) FROM pg_settings \
         WHERE source NOT IN ('default', 'override', 'client', 'session') \
         AND setting IS DISTINCT FROM boot_val ORDER BY name",
    defaults: checks::defaults::DEFAULTS,
    checks: checks::CHECKS,
    replication: &streaming::KINDS,
};

impl Server for Postgres {
    fn traits(&self) -> &ServerTraits {
        &TRAITS
    }

    fn build(&self, printed: &str) -> Result<Option<String>, String> {
        match printed.trim().strip_prefix("postgres (PostgreSQL) ") {
            Some(version) => Ok(Some(version.to_owned())),
            None => Err(format!("expected its version, but it printed {printed:?}")),
        }
    }

    fn check_settings(&self, config: &Settings) -> Result<(), Failure> {
        check_settings(config, "_.", |name, value| {
            reserved_setting(name).or_else(|| reserved_value(name, value))
        })?;
        initdb_options(config, false).map(drop)
    }

    fn configuration(&self, installed: &Installed, paths: &Paths, config: &Settings) -> String {
        configuration::postgresql_conf(installed, paths, config)
    }

    fn initialization(
        &self,
        installed: &Installed,
        paths: &Paths,
        format: &Settings,
        database: &str,
    ) -> Result<Initialization, Failure> {
        let initdb = installed.program.with_file_name("initdb");
        if !initdb.is_file() {
            return Err(bad_program(&installed.program, "its initdb is missing"));
        }
        let data = paths.data.display().to_string();
        let own = [
            "--no-sync",
            "--auth=reject",
            "--encoding=UTF8",
            "--locale=C",
            "--username",
            SUPERUSER,
            "--pgdata",
            &data,
        ];
        let has_checksums = version::is_since(&installed.version, CHECKSUMS_SINCE, 0);
        let options = initdb_options(format, has_checksums)?;
        let arguments = own.map(str::to_owned).into_iter().chain(options);
        let config = paths.config_option(TRAITS.config_option);
        let single = ["--single", &config, "-D", &data, SUPERUSER];
        // Earlier versions let only superusers run CHECKPOINT.
        let may_flush = match version::is_since(&installed.version, CHECKPOINT_ROLE_SINCE, 0) {
            true => format!("GRANT pg_checkpoint TO {ROLE};\n"),
            false => String::new(),
        };
        Ok(Initialization {
            config: configuration::initial_conf(),
            script: (
                FIRST_SQL,
                format!(
                    "CREATE ROLE {ROLE} LOGIN;\n\
                     GRANT pg_monitor TO {ROLE};\n\
                     {may_flush}\
                     CREATE DATABASE {database} OWNER {ROLE};\n"
                ),
            ),
            run: vec![
                Invocation::new(initdb, arguments),
                Invocation {
                    input: Some(paths.dir.join(FIRST_SQL)),
                    ..Invocation::new(&installed.program, single)
                },
            ],
        })
    }

    fn files(&self, paths: &Paths, _: &str) -> Vec<ServerFile> {
        configuration::access_files(paths.address, None, "").into()
    }

    /// The server checks combinations of settings after it has found these files and before it
    /// locks the directory, which fails because of an empty lock file. `-C` would print a setting
    /// before that check.
    fn validation_files(&self, version: &str) -> Vec<(&'static str, String)> {
        vec![
            ("PG_VERSION", format!("{}\n", version::major(version))),
            ("global/pg_control", String::new()),
            ("postmaster.pid", String::new()),
        ]
    }

    fn listing(&self, installed: &Installed, _: &Paths) -> Invocation {
        Invocation::new(&installed.program, ["--describe-config"])
    }

    /// Also sets the password: until then, nobody can log in over TCP. A standby has the password
    /// that its primary was given.
    fn try_login(&self, login: &Login<'_>) -> Result<LoginAttempt, Failure> {
        let set = async |connection: &mut Connection| {
            let is_standby = connection.rows("SELECT pg_is_in_recovery()").await?;
            match first_cell(is_standby).as_deref() {
                Some("t") => Ok(()),
                _ => connection.set_password(ROLE, login.password).await,
            }
        };
        let result = administer(login, LOGIN_ATTEMPT_LIMIT, set)?;
        if result
            .as_ref()
            .is_err_and(|error| error.sqlstate() == Some(CANNOT_CONNECT_NOW))
        {
            std::thread::sleep(RECOVERY_INTERVAL);
            return Ok(LoginAttempt::NotYet);
        }
        Ok(login.attempted(result.map(|()| None)))
    }

    fn needs(&self, config: &Settings, connections: u32, rows: u64) -> Needs {
        let pool_bytes = size(config, "shared_buffers", PAGE_BYTES).unwrap_or(DEFAULT_POOL_BYTES);
        let log_bytes = size(config, "max_wal_size", MEGABYTE).unwrap_or(DEFAULT_LOG_BYTES);
        Needs {
            data_bytes: rows.saturating_mul(ROW_BYTES).saturating_add(EMPTY_BYTES),
            log_bytes,
            memory_bytes: pool_bytes
                .saturating_add(BASE_BYTES)
                .saturating_add(u64::from(connections).saturating_mul(CONNECTION_BYTES)),
            pool_bytes,
        }
    }
}

/// The directories of the programs of each version, the latest first.
fn directories() -> Vec<PathBuf> {
    let mut found = Vec::new();
    for (parent, prefix) in VERSIONS {
        for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let version = name.to_str().and_then(|name| name.strip_prefix(prefix));
            if let Some(version) = version.and_then(|version| version.parse::<u32>().ok()) {
                found.push((version, entry.path().join("bin")));
            }
        }
    }
    found.sort_by(|one, other| other.cmp(one));
    found.into_iter().map(|(_, dir)| dir).collect()
}

#[cfg(test)]
mod tests {
    use crate::POSTGRES;
    use crate::settings::tests::config;

    #[test]
    fn a_server_program_says_its_version() {
        let debian = "postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)\n";
        let build = POSTGRES.build(debian).unwrap().unwrap();
        assert_eq!(build, "15.18 (Debian 15.18-0+deb12u1)");
        assert!(POSTGRES.build("hello").unwrap_err().contains("hello"));
    }

    #[test]
    fn needs_follow_the_settings() {
        let one = POSTGRES.needs(&[], 10, 1000);
        assert_eq!(one.pool_bytes, 128 << 20);
        let large = config(&[("shared_buffers", "1GB"), ("max_wal_size", "8GB")]);
        let large = POSTGRES.needs(&large, 10, 1000);
        assert_eq!(large.pool_bytes, 1 << 30);
        let expected = (1 << 30) - (128 << 20);
        assert_eq!(large.memory_bytes - one.memory_bytes, expected);
        assert_eq!(large.log_bytes - one.log_bytes, 7 << 30);
    }
}
