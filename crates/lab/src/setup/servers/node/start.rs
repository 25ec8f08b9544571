//! Starts a node's server, or its cluster manager, and waits until it accepts connections.

use std::fs;
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::{ManagedServer, Manager};
use engine::{Installed, Invocation, Login, LoginAttempt, Paths, Settings};

use super::{DiskFaults, Node};
use crate::failure::{Fact, Failure, unless_canceled};
use crate::hosts::Started;
use crate::port;
use crate::process::POLL_INTERVAL;
use crate::setup::servers::data_dir::DataDir;
use crate::setup::servers::files::{append, write_for_server, write_program, write_readable};
use crate::setup::servers::log;
use crate::setup::servers::membership::{Membership, Password};
use crate::setup::servers::process::{ProcessId, ServerProcess};
use crate::site::{Launched, Program, Site};

/// How long a server that does not accept connections yet may write nothing to its data. A member
/// may be copying all data from another one.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How many free ports to try if other processes take them before the server does, and the pause
/// between two attempts.
const MAX_PORT_TRIES: u32 = 5;
const PORT_PAUSE: Duration = Duration::from_millis(100);
/// Shown in place of a secret.
const HIDDEN: &str = "(hidden)";

/// What a node is started with, also repeatedly.
#[derive(Debug)]
pub struct NodeSpec {
    /// The number among the servers of the trial, counted from 1; 0 for a server that only loads
    /// data.
    pub number: u32,
    /// Names and values of the study's settings.
    pub config: Vec<(String, String)>,
    /// The study's port; `None` for any free one.
    pub port: Option<u16>,
    /// Maximum number of open connections. Must be the same for a whole study, because
    /// `max_connections` depends on it.
    pub connections: u32,
    pub site: Arc<dyn Site>,
    /// `None` outside a cluster.
    pub membership: Option<Membership>,
    /// Whether the administrator needs no password, for tests with clients other than dyno.
    pub is_open: bool,
    /// The directory in the result for the configuration and `error.log`.
    pub keep: PathBuf,
}

impl NodeSpec {
    /// A single server without settings.
    pub fn new(number: u32, connections: u32, site: Arc<dyn Site>, keep: &Path) -> Self {
        Self {
            number,
            config: Vec::new(),
            port: None,
            connections,
            site,
            membership: None,
            is_open: false,
            keep: keep.to_owned(),
        }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    First,
    /// The server has run before. With `bootstraps`, it bootstraps its group.
    Again {
        bootstraps: bool,
    },
}

/// Starts a server on its data and waits until it accepts connections: as long as it writes to its
/// data, and at most 60 s after its last write. `interrupted` becomes true when the user interrupts.
pub fn start(
    installed: &Installed,
    spec: NodeSpec,
    data: DataDir,
    interrupted: &AtomicBool,
) -> Result<Node, Failure> {
    installed.engine.check_settings(&spec.config)?;
    fs::create_dir_all(&spec.keep).map_err(Failure::at("create", &spec.keep))?;
    let membership = spec.membership.as_ref();
    if let Some(member) = membership {
        for file in member.replication.data_files(&member.layout, member.number) {
            data.write_data_file(file.name, &file.text)?;
        }
    }
    data.hand_over()?;
    let mut node = new(installed, spec, data)?;
    node.launch(Start::First, interrupted)?;
    Ok(node)
}

/// A node whose processes ended when its host restarted. It is down.
pub(crate) fn of_former(
    installed: &Installed,
    spec: NodeSpec,
    data: DataDir,
    former: &Started,
) -> Result<Node, Failure> {
    fs::create_dir_all(&spec.keep).map_err(Failure::at("create", &spec.keep))?;
    let traits = installed.engine.traits();
    // A host gives out the same process IDs again.
    traits
        .process_file
        .map_or(Ok(()), |name| data.remove_data_file(name))?;
    Ok(Node {
        port: former.port,
        password: former.password.clone(),
        public_key: former.public_key.clone(),
        notes: former.notes.clone(),
        ..new(installed, spec, data)?
    })
}

fn new(installed: &Installed, spec: NodeSpec, data: DataDir) -> Result<Node, Failure> {
    let membership = spec.membership.as_ref();
    let own = data.volumes().map(|volume| volume.path());
    let own = own.chain([data.dir()]).map(Path::to_owned);
    let own: Vec<PathBuf> = own.collect();
    spec.site.admit(&[installed.directory()], &own);
    let manager = membership.and_then(|member| member.replication.traits().manager);
    let id = manager.map(|manager| ProcessId::managed(&data, manager.process_file()));
    let password = match membership {
        Some(member) => member.password.clone(),
        None if spec.is_open => Password::default(),
        None => Password::random()?,
    };
    Ok(Node {
        process: None,
        installed: installed.clone(),
        id: id.unwrap_or_default(),
        password,
        port: 0,
        notes: Vec::new(),
        public_key: None,
        recovered: None,
        disk: DiskFaults::default(),
        spec,
        data,
    })
}

impl Node {
    /// Starts the server on its previous port, or on a free one.
    pub(super) fn launch(&mut self, start: Start, interrupted: &AtomicBool) -> Result<(), Failure> {
        let site = &self.spec.site;
        let at = site.address().addr();
        if let Some(port) = self.spec.port {
            port::check_free(SocketAddrV4::new(at, port))?;
        }
        let before = match start {
            Start::First => None,
            Start::Again { .. } => Some(self.port),
        };
        let membership = self.spec.membership.as_ref();
        let of_member = || membership.map(|member| member.layout.member(member.number).port);
        let fixed = self.spec.port.or(before).or_else(of_member);
        let mut tries = 1;
        loop {
            self.port = fixed.map_or_else(|| port::free(at), Ok)?;
            match self.try_launch(start, interrupted) {
                // Another process took the port in the meantime, perhaps only for an outgoing
                // connection.
                Err(error)
                    if error.is(Fact::PortTaken)
                        && self.spec.port.is_none()
                        && tries < MAX_PORT_TRIES =>
                {
                    tries += 1;
                    sleep(PORT_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    fn try_launch(&mut self, start: Start, interrupted: &AtomicBool) -> Result<(), Failure> {
        let (engine, account) = (self.installed.engine, self.data.home().account());
        let paths = self.paths();
        // A killed server leaves its socket behind, which must not be mistaken for the new one, and a file that names
        // its process.
        for suffix in ["", ".lock"] {
            let mut file = paths.socket.clone().into_os_string();
            file.push(suffix);
            let _ = fs::remove_file(file);
        }
        let of_restart = match start {
            Start::First => Vec::new(),
            Start::Again { bootstraps } => self.restart_settings(bootstraps, interrupted)?,
        };
        self.write_config(&paths, &of_restart)?;
        let files = engine.files(&paths, self.password.text());
        for file in &files {
            write_for_server(&paths.dir.join(file.name), &file.text, account)?;
        }
        let invocation = match self.manager(&paths)? {
            Some(manager) => manager.invocation,
            None => engine.start(&self.installed, &paths),
        };
        let (first, log_start) = self.spawn(&paths, &invocation)?;
        let mut process = ServerProcess::new(first, self.site(), &self.id, &self.data)?;
        let log = || log::read_tail(&self.log_path(), log_start);
        let public_key = self.wait_until_ready(&mut process, &log, interrupted)?;
        process.record_server();
        for file in files.iter().filter(|file| file.is_temporary) {
            let path = paths.dir.join(file.name);
            fs::remove_file(&path).map_err(Failure::at("remove", &path))?;
        }
        self.notes = engine.traits().wording.notes(&log(), &self.spec.config);
        self.public_key = public_key;
        self.process = Some(process);
        Ok(())
    }

    /// Starts the cluster manager again if it was killed, and waits until the server accepts
    /// connections.
    pub(super) fn launch_rest(
        &self,
        process: &mut ServerProcess,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let paths = self.paths();
        let manager = match process.is_orphaned {
            true => self.manager(&paths)?,
            false => None,
        };
        if let Some(manager) = manager {
            process.adopt(self.spawn(&paths, &manager.invocation)?.0);
        }
        let log = || self.log();
        self.wait_until_ready(process, &log, interrupted).map(drop)
    }

    /// Starts the server's program, which appends to its log; returns the offset in the log at
    /// which that begins.
    fn spawn(&self, paths: &Paths, invocation: &Invocation) -> Result<(Launched, u64), Failure> {
        let path = self.log_path();
        let log = append(&path)?;
        let metadata = log.metadata().map_err(Failure::at("inspect", &path))?;
        // Identifies the server's processes: see `survivors`.
        let config = paths.config();
        let program = Program {
            path: &invocation.program,
            arguments: &invocation.arguments,
            input: &config,
            log,
        };
        let first = self.site().spawn(self.data.home(), program)?;
        Ok((first, metadata.len()))
    }

    fn restart_settings(
        &self,
        bootstraps: bool,
        interrupted: &AtomicBool,
    ) -> Result<Vec<(String, String)>, Failure> {
        let Some(member) = &self.spec.membership else {
            return Ok(Vec::new());
        };
        let printed = self.recover(interrupted)?.unwrap_or_default();
        let (replication, layout) = (member.replication, &member.layout);
        if let Some(bootstrap) = replication.traits().bootstrap.filter(|_| bootstraps) {
            for file in bootstrap.data_files(layout) {
                self.data.write_data_file(file.name, &file.text)?;
            }
        }
        Ok(replication.restart_settings(layout, &printed, bootstraps))
    }

    /// How far the data of a member goes that is down, as its program reports it; `None` if the
    /// engine does not need to know.
    pub(super) fn recover(&self, interrupted: &AtomicBool) -> Result<Option<String>, Failure> {
        let recovery = self.replication().and_then(|kind| kind.traits().recovery);
        let Some(recovery) = recovery else {
            return Ok(None);
        };
        let paths = self.paths();
        self.write_config(&paths, &[])?;
        let mut invocation = self.installed.engine.start(&self.installed, &paths);
        invocation.arguments.extend(recovery.iter().map(Into::into));
        let (mut first, log_start) = self.spawn(&paths, &invocation)?;
        first.finish(START_LIMIT, interrupted)?;
        Ok(Some(log::read_tail(&self.log_path(), log_start)))
    }

    fn paths(&self) -> Paths {
        let (number, connections) = (self.spec.number, self.spec.connections);
        let (engine, address) = (self.installed.engine, self.site().address());
        self.data
            .paths(engine, number, address, self.port, connections)
    }

    /// The path of the Unix socket, through which dyno logs in.
    pub fn socket(&self) -> PathBuf {
        self.installed.engine.socket(&self.data.own(), self.port)
    }

    /// Writes the configuration for the server, and a copy without secrets for the result.
    /// `of_restart` replaces settings of the same names.
    fn write_config(&self, paths: &Paths, of_restart: &Settings) -> Result<(), Failure> {
        let engine = self.installed.engine;
        let text = |config: &_| engine.configuration(&self.installed, paths, config);
        let mut settings = self.settings(of_restart);
        let account = self.data.home().account();
        write_for_server(&paths.config(), &text(&settings), account)?;
        for (name, value) in &mut settings {
            if engine.is_secret(name, value) {
                HIDDEN.clone_into(value);
            }
        }
        let kept = self.spec.keep.join(engine.traits().config_file);
        write_readable(&kept, &text(&settings))
    }

    /// The settings that make the server a member of its cluster, then the study's.
    fn settings(&self, of_restart: &Settings) -> Vec<(String, String)> {
        let membership = self.spec.membership.as_ref();
        let own = membership.map(|one| one.replication.settings(&one.layout, one.number));
        let is_replaced = |name: &String| of_restart.iter().any(|(other, _)| other == name);
        let own = own.into_iter().flatten();
        let own = own.filter(|(name, _)| !is_replaced(name));
        let rest = of_restart.iter().chain(&self.spec.config);
        own.chain(rest.cloned()).collect()
    }

    /// The manager that starts the server in place of the laboratory, whose files are written.
    fn manager(&self, paths: &Paths) -> Result<Option<Manager>, Failure> {
        let account = self.data.home().account();
        let server = ManagedServer {
            program: &self.installed.program,
            paths,
            config: &self.spec.config,
            account: account.other_name(),
        };
        let manager = self.spec.membership.as_ref().and_then(|member| {
            let manager = member.replication.traits().manager?;
            Some(manager.manager(&member.layout, member.number, &server))
        });
        let Some(manager) = manager.transpose()? else {
            return Ok(None);
        };
        for file in &manager.files {
            let path = paths.dir.join(file.name);
            match file.is_executable {
                true => write_program(&path, &file.text)?,
                false => write_for_server(&path, &file.text, account)?,
            }
            if let Some(kept) = &file.kept {
                write_readable(&self.spec.keep.join(file.name), kept)?;
            }
        }
        Ok(Some(manager))
    }

    fn wait_until_ready(
        &self,
        process: &mut ServerProcess,
        log: &dyn Fn() -> String,
        interrupted: &AtomicBool,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut deadline = Instant::now() + START_LIMIT;
        let (name, socket) = (self.name(), self.socket());
        let login = Login {
            server: &name,
            socket: &socket,
            password: self.password.text(),
        };
        loop {
            if let Some(how) = process.ended(false) {
                return Err(self.why_it_ended(how, &log()));
            }
            match self.installed.engine.try_login(&login)? {
                LoginAttempt::Ready { public_key } => return Ok(public_key),
                LoginAttempt::NotYet => {}
                LoginAttempt::Refused(error) => {
                    return Err(match process.ended(true) {
                        Some(how) => self.why_it_ended(how, &log()),
                        None => error,
                    });
                }
            }
            unless_canceled(interrupted)?;
            if Instant::now() > deadline {
                let rest = self.data.quiet_for();
                let rest = rest.and_then(|quiet| START_LIMIT.checked_sub(quiet));
                let Some(rest) = rest.filter(|rest| !rest.is_zero()) else {
                    return Err(log::too_slow(&name, "answer", START_LIMIT, &log()));
                };
                deadline += rest;
            }
            sleep(POLL_INTERVAL);
        }
    }

    fn why_it_ended(&self, how: String, log: &str) -> Failure {
        let engine = self.installed.engine;
        if engine.is_port_taken(log) {
            let address = self.site().address().addr();
            return port::taken(SocketAddrV4::new(address, self.port));
        }
        log::failure(engine, &self.name(), how, log, &self.spec.config)
    }
}
