//! PostgreSQL's servers, for the laboratory.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use client::postgres::{Connection, Error, Target};
use client::{TlsMode, TlsOptions};
use measure::finding::check::Check;
use rustix::process::Signal;

use super::configuration::{self, ROLE, SUPERUSER};
use super::database::PostgresDatabase;
use super::reserved::reserved_setting;
use super::settings::{self, MEGABYTE, PAGE_BYTES, chosen, size};
use super::{Postgres, checks, format, log, streaming};
use crate::checks::Facts;
use crate::database::Database;
use crate::error::{Cause, EngineError};
use crate::program::Installed;
use crate::remote::{first_cell, on_reactor, url_path};
use crate::replication::Replication;
use crate::server::{
    Initialization, Invocation, Knock, Login, Needs, Paths, Rejected, Server, ServerFile, Settings,
};

/// How long one attempt to log in may take; then the server is looked at again.
const KNOCK_LIMIT: Duration = Duration::from_secs(2);
/// The interval between attempts while the server recovers, which logs each of them.
const RECOVERY_INTERVAL: Duration = Duration::from_millis(50);
/// A server that starts, or ends, answers this.
const CANNOT_CONNECT_NOW: &str = "57P03";
const PORT_TAKEN: &str = "Address already in use";
/// The version whose `initdb` turns data checksums on unless it is told not to.
const CHECKSUMS_SINCE: u64 = 18;
/// The first statements of a new server.
const FIRST_SQL: &str = "first.sql";
/// Where distributions keep the programs of each version, with the version in place of `*`.
const VERSIONS: [(&str, &str, &str); 2] = [
    ("/usr/lib/postgresql", "", "bin"),
    ("/usr", "pgsql-", "bin"),
];
/// A row of the load's tables with its index entries, as measured with 300,000 rows.
const ROW_BYTES: u64 = 270;
/// A data directory without tables, its log included.
const EMPTY_BYTES: u64 = 64 << 20;
/// PostgreSQL's default of `shared_buffers`.
const DEFAULT_POOL_BYTES: u64 = 128 << 20;
/// Its default of `max_wal_size`, which the log of a load soon reaches.
const DEFAULT_LOG_BYTES: u64 = 1 << 30;
/// Memory of a server besides its buffers, and of each connection.
const BASE_BYTES: u64 = 96 << 20;
const CONNECTION_BYTES: u64 = 5 << 20;

impl Server for Postgres {
    fn programs(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn directories(&self) -> Vec<PathBuf> {
        let all = VERSIONS
            .iter()
            .flat_map(|(parent, prefix, sub)| versions_in(parent, prefix, sub));
        let mut found: Vec<(u32, PathBuf)> = all.collect();
        found.sort_by(|one, other| other.cmp(one));
        found.into_iter().map(|(_, dir)| dir).collect()
    }

    fn user(&self) -> &'static str {
        "postgres"
    }

    fn how_to_install(&self) -> &'static str {
        "install Debian's package postgresql, run scripts/install-servers.sh postgres, or name \
         the directory of another one with server.basedir"
    }

    fn version_arguments(&self) -> &'static [&'static str] {
        &["--version"]
    }

    fn build(&self, printed: &str) -> Result<Option<String>, String> {
        match printed.trim().strip_prefix("postgres (PostgreSQL) ") {
            Some(version) => Ok(Some(version.to_owned())),
            None => Err(format!("expected its version, but it printed {printed:?}")),
        }
    }

    fn plain_name(&self, name: &str) -> String {
        name.to_ascii_lowercase()
    }

    fn is_secret(&self, name: &str, value: &str) -> bool {
        settings::is_secret(name, value)
    }

    fn reserved_setting(&self) -> fn(&str) -> Option<&'static str> {
        reserved_setting
    }

    fn check_settings(&self, config: &Settings) -> Result<(), EngineError> {
        configuration::check_settings(config)?;
        format::options(config, false).map(drop)
    }

    fn format_settings(&self, config: &Settings) -> Vec<(String, String)> {
        let mut settings = chosen(config);
        settings.retain(|(name, _)| format::decides(name));
        // Stable: of two values of one setting the last still wins.
        settings.sort_by(|one, other| one.0.cmp(&other.0));
        settings
    }

    fn loading_settings(&self) -> Vec<(String, String)> {
        // The laboratory writes the files to disk when the server has ended.
        let own = [
            ("fsync", "off"),
            ("synchronous_commit", "off"),
            ("full_page_writes", "off"),
            // Standbys recover from no copy whose log is minimal.
            ("wal_level", "replica"),
            ("max_wal_senders", "0"),
            ("max_wal_size", "4GB"),
            ("checkpoint_timeout", "1h"),
            // Otherwise every copy would carry the segments of this load.
            ("wal_recycle", "off"),
            ("shared_buffers", "256MB"),
            ("maintenance_work_mem", "256MB"),
            ("autovacuum", "off"),
        ];
        own.map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    fn config_file(&self) -> &'static str {
        "postgresql.conf"
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
    ) -> Result<Initialization, EngineError> {
        let initdb = installed.program.with_file_name("initdb");
        if !initdb.is_file() {
            return Err(EngineError::BadProgram {
                program: installed.program.clone(),
                words: "its initdb is missing".to_owned(),
            });
        }
        let mut arguments: Vec<OsString> = [
            "--no-sync",
            "--auth=reject",
            "--encoding=UTF8",
            "--locale=C",
            "--username",
            SUPERUSER,
            "--pgdata",
        ]
        .map(OsString::from)
        .to_vec();
        arguments.push(paths.data.clone().into());
        let has_checksums = Facts::version_is_since(&installed.version, CHECKSUMS_SINCE, 0);
        let options = format::options(format, has_checksums)?;
        arguments.extend(options.into_iter().map(OsString::from));
        let single = [
            OsString::from("--single"),
            format!("--config-file={}", paths.config(self).display()).into(),
            "-D".into(),
            paths.data.clone().into(),
            SUPERUSER.into(),
        ];
        Ok(Initialization {
            config: configuration::initial_conf(),
            script: (
                FIRST_SQL,
                format!(
                    "CREATE ROLE {ROLE} LOGIN;\n\
                     GRANT pg_monitor TO {ROLE};\n\
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

    fn not_copied(&self) -> &'static [&'static str] {
        &["postmaster.opts", "postmaster.pid"]
    }

    fn files(&self, _: &str) -> Vec<ServerFile> {
        configuration::access_files()
    }

    fn start(&self, installed: &Installed, paths: &Paths) -> Invocation {
        self.with_config(installed, paths, &[])
    }

    fn stop_signal(&self) -> Signal {
        // SIGTERM waits until every client has left.
        Signal::INT
    }

    fn socket(&self, own: &Path, port: u16) -> PathBuf {
        own.join(format!(".s.PGSQL.{port}"))
    }

    fn validation(&self, installed: &Installed, paths: &Paths) -> Invocation {
        self.with_config(installed, paths, &["-C", "port"])
    }

    fn listing(&self, installed: &Installed, _: &Paths) -> Invocation {
        Invocation::new(&installed.program, ["--describe-config"])
    }

    fn listed(&self, printed: &str) -> Vec<String> {
        let names = printed.lines().filter_map(|line| line.split('\t').next());
        names.map(str::to_ascii_lowercase).collect()
    }

    fn rejected(&self, log: &str, config: &Settings) -> Option<Rejected> {
        log::rejected(log, config)
    }

    fn notes(&self, log: &str, config: &Settings) -> Vec<String> {
        log::notes(log, config)
    }

    fn is_port_taken(&self, log: &str) -> bool {
        log.contains(PORT_TAKEN)
    }

    /// Sets the password, too: until then nobody can log in over TCP. A standby has the one that
    /// its primary was given.
    fn knock(&self, login: &Login<'_>) -> Result<Knock, EngineError> {
        let target = socket_target(login)?;
        let knocked = on_reactor(async {
            let mut connection = Connection::open_within(KNOCK_LIMIT, &target).await?;
            let is_standby = connection.rows("SELECT pg_is_in_recovery()").await?;
            if first_cell(is_standby).as_deref() != Some("t") {
                connection.set_password(ROLE, login.password).await?;
            }
            connection.close().await;
            Ok(())
        })?;
        Ok(match knocked {
            Ok(()) => Knock::Ready { public_key: None },
            Err(Error::Connect { .. } | Error::Timeout { .. } | Error::Lost(_)) => Knock::NotYet,
            Err(error) if error.sqlstate() == Some(CANNOT_CONNECT_NOW) => {
                std::thread::sleep(RECOVERY_INTERVAL);
                Knock::NotYet
            }
            Err(error) => Knock::Refused(login_error(login, &error)),
        })
    }

    fn set_password(&self, login: &Login<'_>, password: &str) -> Result<(), EngineError> {
        let target = socket_target(login)?;
        let set = on_reactor(async {
            let mut connection = Connection::open(&target).await?;
            connection.set_password(ROLE, password).await?;
            connection.close().await;
            Ok(())
        })?;
        set.map_err(|error: Error| login_error(login, &error))
    }

    fn url(&self, port: u16, database: &str) -> String {
        format!("postgres://{ROLE}@127.0.0.1:{port}/{database}")
    }

    fn connect(
        &self,
        port: u16,
        database: &str,
        password: &str,
        _: Option<&[u8]>,
    ) -> Result<Arc<dyn Database>, EngineError> {
        let target = target(&self.url(port, database), Some(password))?;
        Ok(Arc::new(PostgresDatabase::open(target)?))
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

    fn checks(&self) -> Vec<&'static Check<Facts>> {
        checks::checks()
    }

    fn chosen_settings(&self, config: &Settings) -> Vec<(String, String)> {
        chosen(config)
    }

    fn planned_settings(
        &self,
        version: &str,
        connections: u32,
        config: &Settings,
    ) -> BTreeMap<String, String> {
        let connections = configuration::allowed_connections(connections).to_string();
        let own = ("max_connections".to_owned(), connections);
        let defaults = checks::defaults::of(version);
        let defaults = defaults.map(|(name, value)| (name.to_owned(), value.to_owned()));
        defaults.chain([own]).chain(chosen(config)).collect()
    }

    fn replication(&self) -> &'static [&'static dyn Replication] {
        &streaming::KINDS
    }

    fn set_command(&self, name: &str, value: &str, live: bool) -> String {
        let then = match live {
            true => "SELECT pg_reload_conf();",
            false => "then restart it",
        };
        format!("ALTER SYSTEM SET {name} = '{value}'; {then}")
    }
}

impl Postgres {
    fn with_config(&self, installed: &Installed, paths: &Paths, options: &[&str]) -> Invocation {
        let config = format!("--config-file={}", paths.config(self).display());
        let options = options.iter().map(|option| (*option).to_owned());
        Invocation::new(&installed.program, [config].into_iter().chain(options))
    }
}

/// The directories of programs of each version below `parent`.
fn versions_in(parent: &str, prefix: &str, sub: &str) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let versions = entries.filter_map(|entry| {
        let name = entry.file_name();
        let version = name.to_str()?.strip_prefix(prefix)?.parse().ok()?;
        Some((version, entry.path().join(sub)))
    });
    versions.collect()
}

pub(super) fn login_error(login: &Login<'_>, error: &Error) -> EngineError {
    EngineError::Login {
        server: login.server.to_owned(),
        words: error.to_string(),
        remedy: error.remedy(),
    }
}

/// The superuser, through the socket, where the kernel vouches for both ends.
pub(super) fn socket_target(login: &Login<'_>) -> Result<Target, EngineError> {
    let directory = url_path(login.socket.parent().unwrap_or(Path::new("/")));
    let port = login.socket.extension().unwrap_or_default();
    let port = port.to_string_lossy();
    let url = format!("postgres://{SUPERUSER}@/{SUPERUSER}?host={directory}&port={port}");
    target(&url, None)
}

/// A server of the laboratory: the user's own PG* variables and files do not apply.
fn target(url: &str, password: Option<&str>) -> Result<Target, EngineError> {
    // On one host nobody reads along, and TLS would be measured too.
    let tls = TlsOptions {
        mode: Some(TlsMode::Disable),
        ..TlsOptions::default()
    };
    Target::parse_with(url, password, ROLE, &tls, &|_| None)
        .map_err(|error| EngineError::failed(Cause::Internal, error))
}

#[cfg(test)]
mod tests {
    use crate::POSTGRES;

    fn config(settings: &[(&str, &str)]) -> Vec<(String, String)> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        settings.iter().map(owned).collect()
    }

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
        assert_eq!(
            large.memory_bytes - one.memory_bytes,
            (1 << 30) - (128 << 20)
        );
        assert_eq!(large.log_bytes - one.log_bytes, 7 << 30);
    }
}
