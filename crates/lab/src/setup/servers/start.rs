//! Starts a server on its data and waits until it accepts connections.

use std::fs::{self, File};
use std::net::SocketAddrV4;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::{Installed, Invocation, Login, LoginAttempt, Paths};

use crate::failure::{Fact, Failure, canceled};
use crate::port;
use crate::process::POLL_INTERVAL;
use crate::servers::files::{append, write_for_server};
use crate::servers::membership::Membership;
use crate::servers::node::Node;
use crate::servers::password::Password;
use crate::servers::running::{ProcessId, Running};
use crate::servers::{DataDir, elsewhere, log};
use crate::site::{Launched, Program, Site};
use crate::volume::Volume;

/// How long a server that does not accept connections yet may write nothing to its data. A member
/// may be copying all data from another one.
const START_LIMIT: Duration = Duration::from_secs(60);
/// How many free ports to try if other processes take them before the server does, and the pause
/// between two attempts.
const MAX_PORT_TRIES: u32 = 5;
const PORT_PAUSE: Duration = Duration::from_millis(100);
/// Name of a server's log in its directory of the result.
const ERROR_LOG: &str = "error.log";

#[derive(Debug)]
pub struct NodeSpec<'a> {
    /// The number among the servers of the trial, counted from 1; 0 for a server that only loads
    /// data.
    pub number: u32,
    /// The node owns the data from now on.
    pub data: DataDir,
    /// Names and values of the study's settings.
    pub config: &'a [(String, String)],
    /// The study's port; `None` for any free one.
    pub port: Option<u16>,
    /// Maximum number of open connections. Must be the same for a whole study, because
    /// `max_connections` depends on it.
    pub connections: u32,
    pub site: Arc<dyn Site>,
    /// `None` outside a cluster.
    pub membership: Option<Membership>,
    /// The directory in the result for the configuration and `error.log`.
    pub keep: &'a Path,
    /// Becomes true when the user interrupts.
    pub interrupted: &'a AtomicBool,
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Start {
    First,
    /// The server has run before, on this port. With `bootstraps`, it bootstraps its group.
    Again {
        port: u16,
        bootstraps: bool,
    },
}

/// Everything needed to start a server, also repeatedly.
#[derive(Debug)]
pub(super) struct Launcher {
    pub(super) number: u32,
    pub(super) installed: Installed,
    pub(super) config: Vec<(String, String)>,
    pub(super) fixed_port: Option<u16>,
    pub(super) connections: u32,
    pub(super) site: Arc<dyn Site>,
    pub(super) process: ProcessId,
    pub(super) keep: PathBuf,
    pub(super) membership: Option<Membership>,
    pub(super) password: Password,
}

pub(super) struct Started {
    pub(super) running: Running,
    pub(super) port: u16,
    pub(super) notes: Vec<String>,
    /// The server's key for passwords over TCP (PEM), if it has one.
    pub(super) public_key: Option<Vec<u8>>,
}

/// Starts a server and waits until it accepts connections: as long as it writes to its data, and at
/// most 60 s after its last write.
pub fn start(installed: &Installed, spec: NodeSpec<'_>) -> Result<Node, Failure> {
    installed.engine.check_settings(spec.config)?;
    fs::create_dir_all(spec.keep).map_err(Failure::at("create", spec.keep))?;
    let membership = spec.membership;
    for file in membership.iter().flat_map(Membership::data_files) {
        spec.data.write_data_file(file.name, &file.text)?;
    }
    spec.data.hand_over()?;
    let own = spec.data.volumes().map(Volume::path);
    let own = own.chain([spec.data.dir()]).map(Path::to_owned);
    let own: Vec<PathBuf> = own.collect();
    spec.site.admit(&[installed.directory()], &own);
    let launcher = Launcher {
        number: spec.number,
        installed: installed.clone(),
        config: spec.config.to_vec(),
        fixed_port: spec.port,
        connections: spec.connections,
        site: spec.site,
        process: match &membership {
            Some(membership) => membership.process_of(&spec.data),
            None => ProcessId::default(),
        },
        keep: spec.keep.to_owned(),
        password: match &membership {
            Some(membership) => membership.password.clone(),
            None => Password::random()?,
        },
        membership,
    };
    let started = launcher.start(&spec.data, Start::First, spec.interrupted)?;
    Ok(Node::new(launcher, started, spec.data))
}

impl Launcher {
    /// For messages: number, engine, and version.
    pub(super) fn name(&self) -> String {
        match self.number {
            0 => format!("the loading server ({})", self.installed.shown()),
            number => format!("server {number} ({})", self.installed.shown()),
        }
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.keep.join(ERROR_LOG)
    }

    /// The log, opened twice: for a program's output and for its errors.
    pub(super) fn log(&self) -> Result<(File, File), Failure> {
        let path = self.log_path();
        let file = append(&path)?;
        let copy = file.try_clone().map_err(Failure::at("write", &path))?;
        Ok((file, copy))
    }

    /// Starts the server on its previous port, or on a free one.
    pub(super) fn start(
        &self,
        data: &DataDir,
        start: Start,
        interrupted: &AtomicBool,
    ) -> Result<Started, Failure> {
        if let Some(port) = self.fixed_port {
            port::check_free(SocketAddrV4::new(self.site.address().addr(), port))?;
        }
        let of_member = self.membership.as_ref().and_then(Membership::port);
        let before = match start {
            Start::First => None,
            Start::Again { port, .. } => Some(port),
        };
        let fixed = self.fixed_port.or(before).or(of_member);
        let fixed = fixed.or(self.site.port());
        let mut tries = 1;
        loop {
            let port = fixed.map_or_else(port::free, Ok)?;
            match self.try_start(data, port, start, interrupted) {
                // Another process took the port in the meantime, perhaps only for an outgoing
                // connection.
                Err(error)
                    if error.is(Fact::PortTaken)
                        && self.fixed_port.is_none()
                        && tries < MAX_PORT_TRIES =>
                {
                    tries += 1;
                    sleep(PORT_PAUSE);
                }
                outcome => return outcome,
            }
        }
    }

    fn try_start(
        &self,
        data: &DataDir,
        port: u16,
        start: Start,
        interrupted: &AtomicBool,
    ) -> Result<Started, Failure> {
        let engine = self.installed.engine;
        let paths = self.paths(data, port);
        // A killed server leaves its socket behind, which must not be mistaken for the new one.
        let _ = fs::remove_file(&paths.socket);
        let of_restart = match start {
            Start::First => Vec::new(),
            Start::Again { bootstraps, .. } => self.again(data, port, bootstraps, interrupted)?,
        };
        self.write_config(&paths, data.home().account(), &of_restart)?;
        let on_site = self.on_site(&paths);
        let files = engine.files(&on_site, self.password.text());
        for file in &files {
            write_for_server(
                &paths.dir.join(file.name),
                &file.text,
                data.home().account(),
            )?;
        }
        let invocation = match self.managed(&paths, data.home().account())? {
            Some(manager) => manager.invocation,
            None => engine.start(&self.installed, &on_site),
        };
        let paths = self.bring(data, paths, &on_site, interrupted)?;
        let (first, log_start) = self.spawn(data, &paths, &invocation)?;
        let mut running = Running::new(first, &self.site, &self.process, data)?;
        let path = self.log_path();
        let log = || log::read_tail(&path, log_start);
        let public_key = self.wait_until_ready(&mut running, data, &paths, &log, interrupted)?;
        running.record_server();
        for file in files.iter().filter(|file| file.is_temporary) {
            let path = paths.dir.join(file.name);
            self.site.remove_file(&path)?;
        }
        Ok(Started {
            running,
            port,
            notes: (engine.traits().notes)(&log(), &self.config),
            public_key,
        })
    }

    /// The paths of a node as its server sees them.
    pub(super) fn on_site(&self, here: &Paths) -> Paths {
        elsewhere::paths(&*self.site, here)
    }

    /// Copies the files that the server reads to its site, if that is another machine, and connects
    /// a socket on this host to the server's; returns the paths with that socket.
    fn bring(
        &self,
        data: &DataDir,
        here: Paths,
        on_site: &Paths,
        interrupted: &AtomicBool,
    ) -> Result<Paths, Failure> {
        let socket = self.socket(data, here.port);
        let sockets = (&*socket, &*on_site.socket);
        self.site.bring(data.dir(), sockets, interrupted)?;
        Ok(Paths { socket, ..here })
    }

    /// The socket on this host through which dyno logs in.
    pub(super) fn socket(&self, data: &DataDir, port: u16) -> PathBuf {
        let engine = self.installed.engine;
        match self.site.is_here() {
            true => engine.socket(&data.own(), port),
            // `own` belongs to the server's account, which could redirect what dyno creates there.
            false => engine.socket(data.dir(), port),
        }
    }

    /// Starts the cluster manager again if it was killed, and waits until the server accepts
    /// connections.
    pub(super) fn start_rest(
        &self,
        running: &mut Running,
        data: &DataDir,
        port: u16,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let paths = self.paths(data, port);
        let manager = match running.is_orphaned() {
            true => self.managed(&paths, data.home().account())?,
            false => None,
        };
        if let Some(manager) = manager {
            running.adopt(self.spawn(data, &paths, &manager.invocation)?.0);
        }
        let log = || log::read_tail(&self.log_path(), 0);
        self.wait_until_ready(running, data, &paths, &log, interrupted)
            .map(drop)
    }

    /// Starts the server's program, which appends to its log; returns the offset in the log at
    /// which that begins.
    fn spawn(
        &self,
        data: &DataDir,
        paths: &Paths,
        invocation: &Invocation,
    ) -> Result<(Launched, u64), Failure> {
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
        let first = self.site.spawn(data.home(), program)?;
        Ok((first, metadata.len()))
    }

    /// The settings of a member's restart.
    fn again(
        &self,
        data: &DataDir,
        port: u16,
        bootstraps: bool,
        interrupted: &AtomicBool,
    ) -> Result<Vec<(String, String)>, Failure> {
        let Some(member) = &self.membership else {
            return Ok(Vec::new());
        };
        let printed = self.recover(data, port, interrupted)?.unwrap_or_default();
        let (replication, layout) = (member.replication, &member.layout);
        if let Some(bootstrap) = replication.traits().bootstrap.filter(|_| bootstraps) {
            for file in bootstrap.data_files(layout) {
                data.write_data_file(file.name, &file.text)?;
            }
        }
        Ok(replication.restart_settings(layout, &printed, bootstraps))
    }

    /// How far the data of a member goes that is down, as its program reports it; `None` if the
    /// engine does not need to know.
    pub(super) fn recover(
        &self,
        data: &DataDir,
        port: u16,
        interrupted: &AtomicBool,
    ) -> Result<Option<String>, Failure> {
        let membership = self.membership.as_ref();
        let recovery = membership.and_then(|member| member.replication.traits().recovery);
        let Some(recovery) = recovery else {
            return Ok(None);
        };
        let paths = self.paths(data, port);
        self.write_config(&paths, data.home().account(), &[])?;
        let mut invocation = self.installed.engine.start(&self.installed, &paths);
        invocation.arguments.extend(recovery.iter().map(Into::into));
        let (mut first, log_start) = self.spawn(data, &paths, &invocation)?;
        first.finish(START_LIMIT, interrupted)?;
        Ok(Some(log::read_tail(&self.log_path(), log_start)))
    }

    fn paths(&self, data: &DataDir, port: u16) -> Paths {
        let (engine, address) = (self.installed.engine, self.site.address());
        data.paths(engine, self.number, address, port, self.connections)
    }

    fn wait_until_ready(
        &self,
        running: &mut Running,
        data: &DataDir,
        paths: &Paths,
        log: &dyn Fn() -> String,
        interrupted: &AtomicBool,
    ) -> Result<Option<Vec<u8>>, Failure> {
        let mut deadline = Instant::now() + START_LIMIT;
        let login = Login {
            server: &self.name(),
            socket: &paths.socket,
            password: self.password.text(),
        };
        loop {
            if let Some(how) = running.ended() {
                return Err(self.why_it_ended(how, &log(), paths.port));
            }
            match self.installed.engine.try_login(&login)? {
                LoginAttempt::Ready { public_key } => return Ok(public_key),
                LoginAttempt::NotYet => {}
                LoginAttempt::Refused(error) => {
                    return Err(match running.ended_soon() {
                        Some(how) => self.why_it_ended(how, &log(), paths.port),
                        None => error,
                    });
                }
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(canceled());
            }
            if Instant::now() > deadline {
                let quiet = match self.site.machine() {
                    None => data.quiet_for(),
                    Some(machine) => machine.quiet_for(data.data().as_path(), START_LIMIT),
                };
                let rest = quiet.and_then(|quiet| START_LIMIT.checked_sub(quiet));
                let Some(rest) = rest.filter(|rest| !rest.is_zero()) else {
                    return Err(self.too_slow("answer", START_LIMIT, &log()));
                };
                deadline += rest;
            }
            sleep(POLL_INTERVAL);
        }
    }

    fn why_it_ended(&self, how: String, log: &str, port: u16) -> Failure {
        if self.installed.engine.is_port_taken(log) {
            return port::taken(port);
        }
        log::failure(self.installed.engine, &self.name(), how, log, &self.config)
    }

    pub(super) fn too_slow(&self, what: &'static str, limit: Duration, log: &str) -> Failure {
        log::too_slow(&self.name(), what, limit, log)
    }
}
