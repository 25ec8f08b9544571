//! A node: a server process on a site, with its data on a volume.

mod disk;
mod role;
mod start;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use engine::replication::Replication;
use engine::{Database, Installed};
use measure::instance::Space;
use plan::FaultProcess;

use crate::failure::{Failure, not_running};
use crate::process;
use crate::setup::servers::data_dir::DataDir;
use crate::setup::servers::log;
use crate::setup::servers::membership::Password;
use crate::setup::servers::process::{ProcessId, ServerProcess};
use crate::site::Site;

use disk::DiskFaults;
use start::Start;
pub(crate) use start::of_former;
pub use start::{NodeSpec, start};

/// How long a server may take to shut down, which includes writing its dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(300);
/// Name of a server's log in its directory of the result.
const ERROR_LOG: &str = "error.log";

/// Dropping a node kills its process, reaps it, and removes its directory.
#[derive(Debug)]
pub struct Node {
    /// The first field, so that the process ends before its site and its directory are removed.
    /// `None` while the node is down.
    process: Option<ServerProcess>,
    spec: NodeSpec,
    installed: Installed,
    id: ProcessId,
    /// The administrator's, for this run.
    password: Password,
    /// 0 before the first start.
    port: u16,
    notes: Vec<String>,
    public_key: Option<Vec<u8>>,
    /// The position in the group's log that the server's program reported while the server was
    /// down.
    recovered: Option<u64>,
    disk: DiskFaults,
    data: DataDir,
}

impl Node {
    pub fn site(&self) -> &Arc<dyn Site> {
        &self.spec.site
    }

    /// The number among the servers of the trial.
    pub fn number(&self) -> u32 {
        self.spec.number
    }

    /// For messages: number, engine, and version.
    pub fn name(&self) -> String {
        let installed = self.installed.shown();
        match self.spec.number {
            0 => format!("the loading server ({installed})"),
            number => format!("server {number} ({installed})"),
        }
    }

    /// The server's process ID, which changes when a cluster manager restarts it; `None` while
    /// there is none.
    pub fn pid(&self) -> Option<u32> {
        self.id.get()
    }

    /// The server's process, followed through restarts.
    pub fn process(&self) -> &ProcessId {
        &self.id
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.site().reached_at(self.port)
    }

    pub fn data_dir(&self) -> PathBuf {
        self.data.data()
    }

    /// The node's own directory: everything that is not on another volume.
    pub(crate) fn dir(&self) -> &Path {
        self.data.dir()
    }

    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        self.data.directories()
    }

    /// Disk space of the data; `None` if it cannot be read.
    pub(crate) fn space(&self) -> Option<Space> {
        self.data.space()
    }

    /// The error log in the result directory, which outlives the node.
    pub fn log_path(&self) -> PathBuf {
        self.spec.keep.join(ERROR_LOG)
    }

    /// The URL of a database as the administrator, without the password.
    pub fn url(&self, database: &str) -> String {
        self.installed.engine.url(self.address(), database)
    }

    /// The administrator's password for this run.
    pub fn password(&self) -> &str {
        self.password.text()
    }

    /// Opens a database as the administrator over TCP without TLS.
    pub fn open(&self, database: &str) -> Result<Arc<dyn Database>, Failure> {
        let (password, key) = (self.password(), self.public_key.as_deref());
        let engine = self.installed.engine;
        engine.connect(self.address(), database, password, key)
    }

    /// The server's key for passwords over TCP (PEM), if it has one.
    pub fn public_key(&self) -> Option<&[u8]> {
        self.public_key.as_deref()
    }

    /// Messages of the server about settings of the study that it corrected or warned about.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// How the process ended, with the last lines of its log; `None` while it runs.
    pub fn exited(&mut self) -> Option<String> {
        match self.process {
            Some(_) => self.died(false),
            None => Some(self.describe_end("was killed by dyno")),
        }
    }

    /// How the process ended; `None` if it is running or dyno ended it. With `is_likely`, waits
    /// briefly for its end, because a connection to it has just broken.
    pub fn died(&mut self, is_likely: bool) -> Option<String> {
        let how = self.process.as_mut()?.ended(is_likely)?;
        Some(self.describe_end(&how))
    }

    /// Kills the node as `kill -9` does, and reaps it; returns when it was killed, `None` if it was
    /// not running. Its directory stays until the node is dropped.
    pub fn kill(&mut self) -> Option<Instant> {
        Some(self.process.take()?.kill())
    }

    /// Kills the selected processes; returns when they were killed. Without a cluster manager,
    /// kills all of them, as [`Node::kill`] does.
    pub(crate) fn kill_process(&mut self, which: FaultProcess) -> Result<Instant, Failure> {
        let (server, is_managed) = (self.name(), self.is_managed());
        let killed = match which {
            FaultProcess::Server if is_managed => self.running()?.kill_server(),
            FaultProcess::Manager if is_managed => self.running()?.kill_manager(),
            _ => self.process.take().map(|mut process| process.kill()),
        };
        killed.ok_or_else(|| not_running(&server))
    }

    /// Shuts the server down, waiting at most 300 s; returns when it was gone.
    pub(crate) fn shut_down(&mut self, interrupted: &AtomicBool) -> Result<Instant, Failure> {
        self.running()?;
        self.as_member(Replication::leave)?;
        self.stop_process(interrupted)?;
        Ok(Instant::now())
    }

    /// Stops the selected processes with a signal; returns when the last one was stopped.
    pub(crate) fn pause(&mut self, which: FaultProcess) -> Result<Instant, Failure> {
        let paused = self.running()?.set_stopped(which, true);
        paused.ok_or_else(|| self.disobeyed("SIGSTOP"))
    }

    /// Resumes a paused server; returns when all its processes were resumed.
    pub(crate) fn resume(&mut self) -> Result<Instant, Failure> {
        let resumed = self.running()?.set_stopped(FaultProcess::Both, false);
        resumed.ok_or_else(|| self.disobeyed("SIGCONT"))
    }

    fn running(&mut self) -> Result<&mut ServerProcess, Failure> {
        let server = self.name();
        self.process.as_mut().ok_or_else(|| not_running(&server))
    }

    fn disobeyed(&self, signal: &str) -> Failure {
        let server = self.name();
        Failure::server(format!(
            "a process of {server} did not obey {signal} within 10 s"
        ))
    }

    /// Stops the server if it is running, and starts it with the same data, port, and password.
    pub fn restart(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if self.died(false).is_some() {
            self.kill();
        }
        self.stop_process(interrupted)?;
        self.start_again(false, interrupted).map(drop)
    }

    /// Starts the server, or those of its processes that were killed, with the same data, port, and
    /// password; returns when it accepted connections. With `bootstraps`, it bootstraps its group.
    pub(crate) fn start_again(
        &mut self,
        bootstraps: bool,
        interrupted: &AtomicBool,
    ) -> Result<Instant, Failure> {
        match self.process.take() {
            Some(mut process) => {
                let started = self.launch_rest(&mut process, interrupted);
                self.process = Some(process);
                started?;
            }
            None => {
                self.recovered = None;
                self.launch(Start::Again { bootstraps }, interrupted)?;
            }
        }
        Ok(Instant::now())
    }

    /// Shuts the server down, waiting at most 300 s, and removes its directory.
    pub fn stop(self, interrupted: &AtomicBool) -> Result<(), Failure> {
        self.stop_and_keep_data(interrupted).map(drop)
    }

    /// Like [`Node::stop`], but keeps the data.
    pub(crate) fn stop_and_keep_data(
        mut self,
        interrupted: &AtomicBool,
    ) -> Result<DataDir, Failure> {
        self.stop_process(interrupted)?;
        Ok(self.data)
    }

    /// Kills the server and takes down its site and data, as dropping the node does.
    pub fn end(mut self) -> Result<(), Failure> {
        let process = self.process.take().map_or(Ok(()), |mut one| one.end());
        let site = self.spec.site.end();
        let data = self.data.end();
        process.and(site).and(data)
    }

    fn stop_process(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        if process.is_paused {
            process.set_stopped(FaultProcess::Both, false);
        }
        let signal = self.installed.engine.traits().stop_signal;
        match process.stop(signal, STOP_LIMIT, interrupted)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let how = process::how_it_ended(status);
                Err(Failure::server(self.describe_end(&how)))
            }
            None => Err(self.too_slow("stop", STOP_LIMIT)),
        }
    }

    fn describe_end(&self, how: &str) -> String {
        log::ended(&self.name(), how, &self.log())
    }

    /// The failure of a server that runs but does not do what it was asked to.
    fn too_slow(&self, what: &str, limit: Duration) -> Failure {
        log::too_slow(&self.name(), what, limit, &self.log())
    }

    fn log(&self) -> String {
        log::read_tail(&self.log_path(), 0)
    }
}

#[cfg(test)]
mod tests;
