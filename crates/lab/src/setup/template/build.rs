//! Builds a template: initializes a data directory, then loads the tables.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::data::{Listener, Wanted};
use engine::{Installed, Invocation, LOOPBACK};

use super::recipe::Recipe;
use super::{DATABASE, Template, get};
use crate::failure::{self, Failure};
use crate::home::Home;
use crate::needs;
use crate::process;
use crate::servers::{self, DataDir, Node};
use crate::site::{Site, ThisHost};
use crate::volume;

/// How long initialization may take; it writes some 200 MB.
const INITIALIZE_LIMIT: Duration = Duration::from_secs(300);
/// If less space than this is free, a full disk counts as the reason why loading failed.
const FULL_BYTES: u64 = 32 << 20;

/// Complete data that no server uses.
pub(super) struct Built {
    pub(super) data: DataDir,
    pub(super) took: Duration,
    pub(super) checksum: Option<String>,
}

pub(super) struct Builder<'a> {
    home: &'a Home,
    /// The site of the server that loads the data: the host that has the cache.
    site: Arc<dyn Site>,
    installed: &'a Installed,
    /// Settings that determine the format of the files.
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
            site: Arc::new(ThisHost::default()),
            installed,
            format: installed.engine.format_settings(config),
        }
    }

    /// A template without tables.
    pub(super) fn base(&self, listener: &mut Listener<'_>) -> Result<Template, Failure> {
        let recipe = Recipe::empty(self.installed, &self.format);
        get(
            self.home,
            self.installed.engine,
            &recipe,
            listener,
            &mut |listener| self.initialize(listener.interrupted),
        )
    }

    /// Builds the data of a load in the directory of a new node with such volumes.
    pub(super) fn build(
        &self,
        wanted: &Wanted<'_>,
        node: &plan::Node,
        listener: &mut Listener<'_>,
    ) -> Result<Built, Failure> {
        let base = self.base(listener)?;
        let begun = Instant::now();
        let tables = u64::from(wanted.workload.tables(wanted.options, wanted.users));
        let rows = tables.saturating_mul(wanted.options.data.rows);
        let needed_bytes = self.installed.engine.needs(&[], 0, rows).data_bytes;
        let disk = volume::disk(self.home, &node.volume);
        let free_bytes = needs::free_bytes(self.site.files(), disk)?;
        if free_bytes < needed_bytes {
            return Err(self.disk_full(disk, needed_bytes, free_bytes));
        }
        match self.load(&base, wanted, node, listener) {
            Ok((data, checksum)) => Ok(Built {
                data,
                took: base.build_time + begun.elapsed(),
                checksum: Some(checksum),
            }),
            // There was not enough free space.
            Err(Unfilled { is_full: true, .. }) => {
                let needed_bytes = needed_bytes.max(free_bytes + FULL_BYTES);
                Err(self.disk_full(disk, needed_bytes, free_bytes))
            }
            Err(unfilled) => Err(unfilled.error),
        }
    }

    fn disk_full(&self, disk: &Path, needed_bytes: u64, free_bytes: u64) -> Failure {
        let what = format!("building the data for {}", self.installed.shown());
        failure::disk_full(&what, disk, needed_bytes, free_bytes)
    }

    /// Determines whether a full disk, which causes various errors, is the reason for this one.
    /// Called before the partial data is removed.
    fn unfilled(&self, disk: &Path, error: Failure) -> Unfilled {
        let free_bytes = needs::free_bytes(self.site.files(), disk).unwrap_or(u64::MAX);
        let has_filled = !error.is_interrupted() && free_bytes < FULL_BYTES;
        Unfilled {
            is_full: failure::is_disk_full(&error) || has_filled,
            error,
        }
    }

    fn load(
        &self,
        base: &Template,
        wanted: &Wanted<'_>,
        node: &plan::Node,
        listener: &mut Listener<'_>,
    ) -> Result<(DataDir, String), Unfilled> {
        let disk = volume::disk(self.home, &node.volume);
        let unfilled = |error| self.unfilled(disk, error);
        let data =
            DataDir::new(self.home, "build", node, listener.interrupted).map_err(unfilled)?;
        let from = base.dir.join("data");
        let filled = data.fill(&from, self.installed.engine, listener.interrupted);
        filled.map_err(unfilled)?;
        // Not `data.dir()` itself, which contains the configuration with secrets.
        let keep = data.dir().join("keep");
        let started = servers::start(
            self.installed,
            servers::NodeSpec {
                number: 0,
                data,
                config: &self.loading_settings(),
                port: None,
                connections: wanted.connections,
                membership: None,
                site: Arc::clone(&self.site),
                keep: &keep,
                interrupted: listener.interrupted,
            },
        );
        let mut server = started.map_err(unfilled)?;
        let checksum = fill(&mut server, wanted, listener).map_err(unfilled)?;
        let data = server
            .stop_and_keep_data(listener.interrupted)
            .map_err(unfilled)?;
        for name in self.installed.engine.traits().not_copied {
            data.remove_data_file(name).map_err(unfilled)?;
        }
        Ok((data, checksum))
    }

    fn loading_settings(&self) -> Vec<(String, String)> {
        let own = self.installed.engine.traits().loading_settings;
        let own = own
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        own.chain(self.format.clone()).collect()
    }

    /// Initializes a new data directory.
    fn initialize(&self, interrupted: &AtomicBool) -> Result<Built, Failure> {
        let begun = Instant::now();
        let data = DataDir::new(self.home, "build", &plan::Node::default(), interrupted)?;
        data.make_own("data")?;
        data.hand_over()?;
        let engine = self.installed.engine;
        let paths = data.paths(engine, 0, LOOPBACK, 0, 0);
        let steps = engine.initialization(self.installed, &paths, &self.format, DATABASE)?;
        let config = paths.config();
        servers::write_for_server(&config, &steps.config, self.home.account())?;
        let (script, text) = &steps.script;
        servers::write_readable(&data.dir().join(script), text)?;
        for invocation in &steps.run {
            self.run(invocation, data.dir(), interrupted)?;
        }
        for name in engine.traits().not_copied {
            data.remove_data_file(name)?;
        }
        Ok(Built {
            data,
            took: begun.elapsed(),
            checksum: None,
        })
    }

    /// Runs a program that initializes a data directory; its log goes to `dir`.
    fn run(
        &self,
        invocation: &Invocation,
        dir: &Path,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let path = dir.join("error.log");
        let log = fs::File::create(&path).map_err(Failure::at("write", &path))?;
        let errors = log.try_clone().map_err(Failure::at("write", &path))?;
        let mut command = self.home.command(&invocation.program);
        command.args(&invocation.arguments);
        if let Some(input) = &invocation.input {
            command.stdin(fs::File::open(input).map_err(Failure::at("read", input))?);
        }
        command.stdout(log).stderr(errors);
        let how = match process::run(command, INITIALIZE_LIMIT, interrupted)? {
            Some(status) if status.success() => return Ok(()),
            Some(status) => process::how_it_ended(status),
            None => format!("took longer than {} s", INITIALIZE_LIMIT.as_secs()),
        };
        let engine = self.installed.engine;
        let who = format!("the initialization of {}", self.installed.shown());
        let log = servers::read_tail(&path, 0);
        let log = (engine.traits().initialization_error)(&log);
        Err(servers::failure(engine, &who, how, log, &self.format))
    }
}

struct Unfilled {
    error: Failure,
    is_full: bool,
}

/// Loads the tables; returns the checksum of all rows.
fn fill(
    server: &mut Node,
    wanted: &Wanted<'_>,
    listener: &mut Listener<'_>,
) -> Result<String, Failure> {
    let database = server.open(DATABASE)?;
    let listening = Listener {
        tell: &mut *listener.tell,
        interrupted: listener.interrupted,
    };
    let loaded = database.prepare(wanted, listening);
    match loaded.and_then(|_| database.checksum()) {
        Ok(all) => Ok(format!("{} rows, crc {:08x}", all.count, all.xor)),
        Err(error) if error.is_interrupted() => Err(failure::canceled()),
        Err(error) => Err(match server.died(true) {
            Some(how) => Failure::server(how),
            None => error.context("cannot build the data"),
        }),
    }
}
