//! Builds a template: an initialised server, then the tables of a load in it.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use client::mysql::{Connection, Target};
use client::reactor::Reactor;
use data::{Listener, Wanted};
use workload::rows::Checksum;

use super::recipe::{Recipe, format_settings};
use super::{DATABASE, Template, get};
use crate::copy::copy_dir;
use crate::error::LabError;
use crate::home::Home;
use crate::needs;
use crate::process;
use crate::servers::{self, DataDir, Engine, Installed, Private};

/// How long a new data directory may take; it writes some 200 MB.
const INITIALISE_LIMIT: Duration = Duration::from_secs(300);
/// The buffer pool that loads a template: indexes are built from it.
const LOADING_POOL: &str = "512M";
/// Files of a server that a copy must not have: its identity, and which pages it held
/// last, so that a copy starts cold.
const NOT_KEPT: [&str; 2] = ["auto.cnf", "ib_buffer_pool"];
/// A disk with less room than this is taken for the reason why a load failed.
const FULL_BYTES: u64 = 32 << 20;

/// Data that is whole and in nobody's use.
pub(super) struct Built {
    pub(super) data: DataDir,
    pub(super) took: Duration,
    pub(super) checksum: Option<String>,
}

/// Builds templates of one server program.
pub(super) struct Builder<'a> {
    home: &'a Home,
    installed: &'a Installed,
    /// Settings that decide the form of the files.
    format: Vec<(String, String)>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(
        home: &'a Home,
        installed: &'a Installed,
        config: &[(String, String)],
    ) -> Self {
        Self {
            home,
            installed,
            format: format_settings(config),
        }
    }

    /// The template without tables.
    pub(super) fn base(&self, listener: &mut Listener<'_>) -> Result<Template, LabError> {
        let recipe = Recipe::empty(self.installed, &self.format);
        get(self.home, &recipe, listener, &mut |listener| {
            self.initialise(listener.interrupted)
        })
    }

    /// The data of a load, in a server's directory of its own, below `directory` where
    /// there is one.
    pub(super) fn build(
        &self,
        wanted: &Wanted<'_>,
        directory: Option<&Path>,
        listener: &mut Listener<'_>,
    ) -> Result<Built, LabError> {
        let base = self.base(listener)?;
        let begun = Instant::now();
        let tables = u64::from(wanted.workload.tables(wanted.options, wanted.users));
        let rows = tables.saturating_mul(wanted.options.rows);
        let needed_bytes = needs::data_bytes(self.installed.engine, rows);
        let disk = directory.unwrap_or(self.home.root());
        let free_bytes = needs::free_bytes(disk)?;
        if free_bytes < needed_bytes {
            return Err(self.disk_full(disk, needed_bytes, free_bytes));
        }
        match self.load(&base, wanted, directory, listener) {
            Ok((data, checksum)) => Ok(Built {
                data,
                took: base.build_time + begun.elapsed(),
                checksum: Some(checksum),
            }),
            // All that was free was not enough.
            Err(Failure { is_full: true, .. }) => {
                let needed_bytes = needed_bytes.max(free_bytes + FULL_BYTES);
                Err(self.disk_full(disk, needed_bytes, free_bytes))
            }
            Err(failure) => Err(failure.error),
        }
    }

    fn disk_full(&self, disk: &Path, needed_bytes: u64, free_bytes: u64) -> LabError {
        LabError::DiskFull {
            what: format!("building the data for {}", self.installed.shown()),
            path: disk.to_owned(),
            needed_bytes,
            free_bytes,
        }
    }

    /// Whether a full disk is behind an error, which it shows as many ones; asked before
    /// the half-built data is removed.
    fn failure(&self, disk: &Path, error: LabError) -> Failure {
        let is_asked_for = matches!(error, LabError::Interrupted);
        let free_bytes = needs::free_bytes(disk).unwrap_or(u64::MAX);
        Failure {
            is_full: error.is_disk_full() || (!is_asked_for && free_bytes < FULL_BYTES),
            error,
        }
    }

    fn load(
        &self,
        base: &Template,
        wanted: &Wanted<'_>,
        directory: Option<&Path>,
        listener: &mut Listener<'_>,
    ) -> Result<(DataDir, String), Failure> {
        let disk = directory.unwrap_or(self.home.root());
        let failure = |error| self.failure(disk, error);
        let data = DataDir::new(self.home, "build", directory).map_err(failure)?;
        copy_dir(&base.dir.join("data"), &data.data(), self.home.account()).map_err(failure)?;
        // Beside the configuration that the server reads, which has the secrets in it.
        let keep = data.dir().join("keep");
        let started = servers::start(
            self.installed,
            servers::Wanted {
                number: 0,
                data,
                config: &self.loading_settings(),
                port: None,
                connections: wanted.connections,
                cpus: None,
                keep: &keep,
                interrupted: listener.interrupted,
            },
        );
        let mut server = started.map_err(failure)?;
        let checksum = fill(&mut server, wanted, listener).map_err(failure)?;
        let data = server
            .stop_and_keep_data(listener.interrupted)
            .map_err(failure)?;
        for name in NOT_KEPT {
            data.remove_data_file(name).map_err(failure)?;
        }
        Ok((data, checksum))
    }

    /// What makes loading fast; it ends with a clean shutdown that writes everything.
    fn loading_settings(&self) -> Vec<(String, String)> {
        let own = [
            ("innodb_buffer_pool_size", LOADING_POOL),
            ("innodb_flush_log_at_trx_commit", "0"),
            ("innodb_doublewrite", "OFF"),
            ("innodb_fast_shutdown", "0"),
            ("innodb_buffer_pool_dump_at_shutdown", "OFF"),
            ("local_infile", "ON"),
            ("performance_schema", "OFF"),
        ];
        let own = own.map(|(name, value)| (name.to_owned(), value.to_owned()));
        own.into_iter().chain(self.format.clone()).collect()
    }

    /// Fills a new data directory.
    fn initialise(&self, interrupted: &AtomicBool) -> Result<Built, LabError> {
        let begun = Instant::now();
        let data = DataDir::new(self.home, "build", None)?;
        data.make_own("data")?;
        data.hand_over()?;
        servers::write_init_config(self.installed, &data, &self.format)?;
        let sql = data.dir().join("first.sql");
        servers::write_readable(&sql, &self.first_sql())?;
        let log_path = data.dir().join("error.log");
        let log = fs::File::create(&log_path).map_err(LabError::at("write", &log_path))?;
        let errors = log.try_clone().map_err(LabError::at("write", &log_path))?;
        let mut command = self.initialiser(&data, &sql)?;
        command.stdout(log).stderr(errors);
        let status = process::run(command, INITIALISE_LIMIT, interrupted)?;
        let how = match status {
            Some(status) if status.success() => {
                data.remove_data_file("auto.cnf")?;
                return Ok(Built {
                    data,
                    took: begun.elapsed(),
                    checksum: None,
                });
            }
            Some(status) => process::how_it_ended(status),
            None => format!("took longer than {} s", INITIALISE_LIMIT.as_secs()),
        };
        let who = format!("the new data directory of {}", self.installed.shown());
        Err(servers::failure_of(&who, how, &log_path, &self.format))
    }

    fn initialiser(&self, data: &DataDir, sql: &Path) -> Result<Command, LabError> {
        let config = format!("--defaults-file={}", data.config().display());
        let datadir = format!("--datadir={}", data.data().display());
        Ok(match self.installed.engine {
            Engine::MariaDb => {
                let program = self.installed.install_program()?;
                let mut command = self.home.command(&program);
                command.args([&config, &datadir]);
                command.args(["--auth-root-authentication-method=normal", "--skip-test-db"]);
                command.args(["--skip-name-resolve", "--cross-bootstrap"]);
                command.arg(format!("--extra-file={}", sql.display()));
                if let Some(base) = self.installed.basedir() {
                    command.arg(format!("--basedir={}", base.display()));
                }
                command
            }
            Engine::MySql => {
                let mut command = self.home.command(&self.installed.program);
                command.args([&config, &datadir]);
                command.arg("--initialize-insecure");
                command.arg(format!("--init-file={}", sql.display()));
                command
            }
        })
    }

    /// The first statements of a new server: nobody can log in until a run sets a password.
    fn first_sql(&self) -> String {
        let lock = servers::lock_sql(self.installed.engine);
        format!("{lock}CREATE DATABASE {DATABASE};\n")
    }
}

/// A failed load.
struct Failure {
    error: LabError,
    is_full: bool,
}

/// Loads the tables; gives the checksum of all rows.
fn fill(
    server: &mut Private,
    wanted: &Wanted<'_>,
    listener: &mut Listener<'_>,
) -> Result<String, LabError> {
    let target = server.target(DATABASE)?;
    let listening = Listener {
        tell: &mut *listener.tell,
        interrupted: listener.interrupted,
    };
    match data::prepare_mysql(&target, wanted, listening) {
        Ok(_) => checksum(&target),
        Err(data::PrepareError::Interrupted) => Err(LabError::Interrupted),
        Err(error) => Err(match server.exited_soon() {
            Some(how) => LabError::Ended(how),
            None => error.into(),
        }),
    }
}

/// The checksum of all rows, as the loader computed and marked it for each table.
fn checksum(target: &Target) -> Result<String, LabError> {
    let loop_error = || LabError::at("open", "an event loop".as_ref());
    let reactor = Reactor::new().map_err(loop_error())?;
    let marks = reactor.block_on(async {
        let mut connection = Connection::open(target).await?;
        let marks = connection
            .rows("SELECT row_count, checksum FROM dyno_tables")
            .await?;
        connection.close().await;
        Ok::<_, client::mysql::Error>(marks)
    });
    let marks = marks
        .map_err(loop_error())?
        .map_err(data::PrepareError::from)?;
    let mut all = Checksum::default();
    for mark in marks {
        if let [Some(count), Some(xor)] = mark.as_slice() {
            all.merge(Checksum {
                count: count.parse().unwrap_or_default(),
                xor: xor.parse().unwrap_or_default(),
            });
        }
    }
    Ok(format!("{} rows, crc {:08x}", all.count, all.xor))
}
