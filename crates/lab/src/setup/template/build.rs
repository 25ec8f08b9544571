//! Builds a template: initializes a data directory, then loads the tables.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::data::{self, Listener, Wanted};
use engine::{Invocation, LOOPBACK};

use super::{About, DATABASE, Template, Templates};
use crate::failure::{Fact, Failure, canceled, disk_full, is_disk_full};
use crate::process;
use crate::setup::needs;
use crate::setup::servers::{self, DataDir, Node, NodeSpec};
use crate::site::{Site, ThisHost};
use crate::volume;

/// How long initialization may take; it writes some 200 MB.
const INITIALIZE_LIMIT: Duration = Duration::from_secs(300);
/// If less space than this is free, a full disk counts as the reason why loading failed.
const FULL_BYTES: u64 = 32 << 20;

/// Complete data that no server uses.
#[derive(Debug)]
pub struct Built {
    pub data: DataDir,
    pub took: Duration,
    pub(super) checksum: Option<String>,
}

impl Built {
    /// Data that another host has built.
    pub(super) fn elsewhere(data: DataDir, about: &About) -> Self {
        Self {
            data,
            took: about.build_time(),
            checksum: about.checksum.clone(),
        }
    }
}

impl Templates<'_> {
    /// Builds the data of a load in the directory of a new node with such volumes, even if the
    /// cache has a template with this data.
    pub fn build(
        &self,
        wanted: &Wanted<'_>,
        node: &plan::Node,
        listener: &mut Listener<'_>,
    ) -> Result<Built, Failure> {
        let base = self.empty(listener)?;
        let begun = Instant::now();
        let tables = wanted.workload.tables(wanted.options, wanted.users);
        let rows = u64::from(tables).saturating_mul(wanted.options.data.rows);
        let rows = wanted.script.map_or(rows, |data| data.rows);
        let needed_bytes = self.installed.engine.needs(&[], 0, rows).data_bytes;
        let disk = volume::disk(self.home, &node.volume);
        let free_bytes = needs::space(ThisHost::default().files(), disk)?.free_bytes;
        let too_small = |needed_bytes| {
            let what = format!("building the data for {}", self.installed.shown());
            disk_full(&what, disk, needed_bytes, free_bytes)
        };
        if free_bytes < needed_bytes {
            return Err(too_small(needed_bytes));
        }
        let loaded = self.load(&base, wanted, node, listener);
        let (data, checksum) = loaded.map_err(|error| match is_disk_full(&error) {
            true => too_small(needed_bytes.max(free_bytes + FULL_BYTES)),
            false => error,
        })?;
        Ok(Built {
            data,
            took: base.build_time + begun.elapsed(),
            checksum,
        })
    }

    fn load(
        &self,
        base: &Template,
        wanted: &Wanted<'_>,
        node: &plan::Node,
        listener: &mut Listener<'_>,
    ) -> Result<(DataDir, Option<String>), Failure> {
        let (engine, interrupted) = (self.installed.engine, listener.interrupted);
        let data = DataDir::new(self.home, "build", node, interrupted)?;
        data.fill(&base.dir.join("data"), engine, interrupted)?;
        // Not `data.dir()` itself, which contains the configuration with secrets.
        let keep = data.dir().join("keep");
        let site = Arc::new(ThisHost::default());
        let prepare = wanted.script.and_then(|data| data.prepare.as_ref());
        let users = prepare.map_or(0, |command| command.users);
        let own = engine.traits().loading_settings.iter();
        let own = own.map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let spec = NodeSpec {
            config: own.chain(self.format.clone()).collect(),
            ..NodeSpec::new(0, wanted.connections.max(users), site, &keep)
        };
        let mut server = servers::start(self.installed, spec, data, interrupted)?;
        let disk = volume::disk(self.home, &node.volume);
        let checksum = fill(&mut server, wanted, listener);
        let checksum = checksum.map_err(|error| blamed_on_disk(disk, error))?;
        let data = server.stop_and_keep_data(interrupted)?;
        for name in engine.traits().not_copied {
            data.remove_data_file(name)?;
        }
        Ok((data, checksum))
    }

    pub(super) fn initialize(&self, interrupted: &AtomicBool) -> Result<Built, Failure> {
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
        let mut command = self.home.command(&invocation.program);
        command.args(&invocation.arguments);
        if let Some(input) = &invocation.input {
            command.stdin(fs::File::open(input).map_err(Failure::at("read", input))?);
        }
        command.stdout(servers::append(&path)?);
        command.stderr(servers::append(&path)?);
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

/// Says that a full disk, which causes various errors, is the reason for this one, if it is. Called
/// before the partial data is removed.
fn blamed_on_disk(disk: &Path, error: Failure) -> Failure {
    let space = needs::space(ThisHost::default().files(), disk);
    let free_bytes = space.map_or(u64::MAX, |space| space.free_bytes);
    match !error.is_interrupted() && free_bytes < FULL_BYTES {
        true => error.fact(Fact::Io(ErrorKind::StorageFull)),
        false => error,
    }
}

/// Loads the tables; returns the checksum of all rows, unless a script has loaded them.
fn fill(
    server: &mut Node,
    wanted: &Wanted<'_>,
    listener: &mut Listener<'_>,
) -> Result<Option<String>, Failure> {
    let database = server.open(DATABASE)?;
    let listening = Listener {
        tell: &mut *listener.tell,
        interrupted: listener.interrupted,
    };
    let loaded = data::prepare(&*database, wanted, listening);
    let checksum = |_| match wanted.script {
        Some(_) => Ok(None),
        None => database.checksum().map(Some),
    };
    match loaded.and_then(checksum) {
        Ok(all) => Ok(all.map(|all| format!("{} rows, crc {:08x}", all.count, all.xor))),
        Err(error) if error.is_interrupted() => Err(canceled()),
        Err(error) => Err(match server.died(true) {
            Some(how) => Failure::server(how),
            None => error.context("cannot build the data"),
        }),
    }
}
