//! A node: a server process on a site, with its data on a volume.

mod role;
mod signals;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

use engine::replication::{Member, Replication, Role};
use engine::{Database, Login};
use measure::instance::Space;
use plan::FaultVolume;

use crate::failure::{Failure, canceled};
use crate::process;
use crate::servers::membership::Membership;
use crate::servers::password::Password;
use crate::servers::running::{ProcessId, Running};
use crate::servers::start::{Launcher, Start, Started};
use crate::servers::{DataDir, log};
use crate::site::Site;
use crate::volume::Volume;

/// How long a server may take to shut down, which includes writing its dirty pages.
const STOP_LIMIT: Duration = Duration::from_secs(300);
/// How long a restarted member may take to rejoin its cluster, and how often it tries.
const REJOIN_LIMIT: Duration = Duration::from_secs(60);
/// How long the cluster manager may take to make the first member the primary.
const JOIN_LIMIT: Duration = Duration::from_secs(60);
const REJOIN_INTERVAL: Duration = Duration::from_millis(200);

/// Dropping a node kills its process, reaps it, and removes its directory.
#[derive(Debug)]
pub struct Node {
    /// The first field, so that the process ends before its site and its directory are removed.
    running: Option<Running>,
    launcher: Launcher,
    port: u16,
    notes: Vec<String>,
    public_key: Option<Vec<u8>>,
    data: DataDir,
    /// The position in the group's log that the server's program reported while the server was
    /// down.
    recovered: Option<u64>,
}

impl Node {
    pub(super) fn new(launcher: Launcher, started: Started, data: DataDir) -> Self {
        Self {
            running: Some(started.running),
            launcher,
            port: started.port,
            notes: started.notes,
            public_key: started.public_key,
            data,
            recovered: None,
        }
    }

    pub fn site(&self) -> &Arc<dyn Site> {
        &self.launcher.site
    }

    /// The number among the servers of the trial.
    pub fn number(&self) -> u32 {
        self.launcher.number
    }

    /// For messages: number, engine, and version.
    pub fn name(&self) -> String {
        self.launcher.name()
    }

    /// The server's process ID, which changes when a cluster manager restarts it; `None` while
    /// there is none.
    pub fn pid(&self) -> Option<u32> {
        self.launcher.process.get()
    }

    /// The process ID of the cluster manager, if one is running.
    pub fn manager_pid(&self) -> Option<u32> {
        self.launcher.process.manager()
    }

    /// The server's process, followed through restarts.
    pub fn process(&self) -> &ProcessId {
        &self.launcher.process
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The address that clients connect to.
    pub fn address(&self) -> SocketAddr {
        self.site().reached_at(self.port)
    }

    /// The path of the Unix socket.
    pub fn socket(&self) -> PathBuf {
        self.launcher.socket(&self.data, self.port)
    }

    /// The data directory on the site.
    pub fn data_dir(&self) -> PathBuf {
        self.site().path(&self.data.data())
    }

    /// The directories of data and log on the site.
    pub(crate) fn directories(&self) -> Vec<PathBuf> {
        let here = self.data.directories().into_iter();
        here.map(|here| self.site().path(&here)).collect()
    }

    /// Disk space of the data; `None` if it cannot be read or is on another machine.
    pub(crate) fn space(&self) -> Option<Space> {
        self.data.space().filter(|_| self.site().is_here())
    }

    /// The volume of the data or of the log; `None` if the log has no volume of its own.
    pub(crate) fn volume(&self, which: FaultVolume) -> Option<Arc<dyn Volume>> {
        self.data.volume(which)
    }

    /// A file of dyno's that fills a volume; `None` for a volume in dyno's cache.
    pub(crate) fn filler(&self, which: FaultVolume) -> Result<Option<PathBuf>, Failure> {
        self.data.filler(which)
    }

    /// The error log in the result directory, which outlives the node.
    pub fn log_path(&self) -> PathBuf {
        self.launcher.log_path()
    }

    /// The URL of a database as the administrator, without the password.
    pub fn url(&self, database: &str) -> String {
        self.launcher.installed.engine.url(self.address(), database)
    }

    /// The administrator's password for this run.
    pub fn password(&self) -> &str {
        self.launcher.password.text()
    }

    /// Opens a database as the administrator over TCP without TLS.
    pub fn open(&self, database: &str) -> Result<Arc<dyn Database>, Failure> {
        let (password, key) = (self.password(), self.public_key.as_deref());
        let engine = self.launcher.installed.engine;
        engine.connect(self.address(), database, password, key)
    }

    /// The server's key for passwords over TCP (PEM), if it has one.
    pub fn public_key(&self) -> Option<&[u8]> {
        self.public_key.as_deref()
    }

    /// `None` if the node is not a member of a cluster.
    pub(crate) fn replication(&self) -> Option<&'static dyn Replication> {
        let membership = self.launcher.membership.as_ref();
        membership.map(|member| member.replication)
    }

    /// Joins its cluster, if it is a member of one.
    pub(crate) fn join(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let membership = self.launcher.membership.as_ref();
        if membership.is_some_and(Membership::is_promoted) {
            self.wait_until_it_is(Role::Primary, JOIN_LIMIT, interrupted)?;
        }
        self.as_member(Replication::join).map(drop)
    }

    /// Rejoins its cluster after a restart, within 60 s: the other members may still have to notice
    /// that it was gone.
    pub(crate) fn rejoin(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let deadline = Instant::now() + REJOIN_LIMIT;
        loop {
            match self.try_rejoin() {
                Err(_) if interrupted.load(Ordering::Relaxed) => return Err(canceled()),
                Err(_) if Instant::now() < deadline => sleep(REJOIN_INTERVAL),
                joined => return joined,
            }
        }
    }

    /// Makes the member with index `to` the primary in place of this one.
    pub(crate) fn switch_over(&self, to: usize) -> Result<(), Failure> {
        let number = u32::try_from(to + 1).unwrap_or(u32::MAX);
        self.as_member(|kind, member| match kind.traits().switchover {
            Some(kind) => kind.switch_over(member, number),
            None => Ok(()),
        })
        .map(drop)
    }

    /// The index of the only member that could become the primary in place of this one.
    pub(crate) fn successor(&self) -> Result<Option<usize>, Failure> {
        let number = self.as_member(|kind, member| match kind.traits().switchover {
            Some(kind) => kind.successor(member),
            None => Ok(None),
        })?;
        let number = number.flatten();
        Ok(number.and_then(|number| usize::try_from(number.saturating_sub(1)).ok()))
    }

    /// Performs what remains to be done on this node, the primary, once the other members
    /// replicate.
    pub(crate) fn complete_cluster(&self) -> Result<(), Failure> {
        self.as_member(Replication::complete).map(drop)
    }

    /// Waits until the node applies what its primary writes.
    pub(crate) fn wait_until_it_replicates(
        &mut self,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let is_writable = <dyn Replication>::has_many_primaries;
        let wanted = match self.replication().is_some_and(is_writable) {
            true => Role::Primary,
            false => Role::Replica,
        };
        self.wait_until_it_is(wanted, limit, interrupted)
    }

    /// Waits until the node has this role; returns at once if it is not a member of a cluster.
    fn wait_until_it_is(
        &mut self,
        wanted: Role,
        limit: Duration,
        interrupted: &AtomicBool,
    ) -> Result<(), Failure> {
        let deadline = Instant::now() + limit;
        loop {
            let role = self.role();
            // That the server has ended explains more than a missing answer.
            if let Some(how) = self.died(role.is_err()) {
                return Err(Failure::server(how));
            }
            if role?.is_none_or(|role| role == wanted) {
                return Ok(());
            }
            if interrupted.load(Ordering::Relaxed) {
                return Err(canceled());
            }
            if Instant::now() > deadline {
                let log = self.log();
                let what = match wanted {
                    Role::Primary => "become the primary",
                    _ => "replicate",
                };
                return Err(self.launcher.too_slow(what, limit, &log));
            }
            sleep(process::POLL_INTERVAL);
        }
    }

    /// Calls `work` with the administrator's account; `None` if the node is not a member of a
    /// cluster.
    fn as_member<T>(
        &self,
        work: impl FnOnce(&'static dyn Replication, &Member<'_>) -> Result<T, Failure>,
    ) -> Result<Option<T>, Failure> {
        let Some(membership) = &self.launcher.membership else {
            return Ok(None);
        };
        let member = Member {
            cluster: &membership.layout,
            number: membership.number,
            login: Login {
                server: &self.name(),
                socket: &self.socket(),
                password: self.password(),
            },
        };
        Ok(Some(work(membership.replication, &member)?))
    }

    /// Messages of the server about settings of the study that it corrected or warned about.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Removes the administrator's password, also for restarts. For tests with clients other than
    /// dyno.
    pub fn remove_password(&mut self) -> Result<(), Failure> {
        let none = Password::default();
        let login = Login {
            server: &self.name(),
            socket: &self.socket(),
            password: self.password(),
        };
        let engine = self.launcher.installed.engine;
        engine.set_password(&login, self.site().address(), none.text())?;
        self.launcher.password = none;
        Ok(())
    }

    /// How the process ended, with the last lines of its log; `None` while it runs.
    pub fn exited(&mut self) -> Option<String> {
        match self.running {
            Some(_) => self.died(false),
            None => Some(self.describe_end("was killed by dyno")),
        }
    }

    /// How the process ended; `None` if it is running or dyno ended it. With `is_likely`, waits
    /// briefly for its end, because a connection to it has just broken.
    pub fn died(&mut self, is_likely: bool) -> Option<String> {
        let running = self.running.as_mut()?;
        let how = match is_likely {
            true => running.ended_soon(),
            false => running.ended(),
        };
        how.map(|how| self.describe_end(&how))
    }

    /// Stops the server if it is running, and starts it with the same data, port, and password.
    pub fn restart(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        if self.died(false).is_some() {
            self.kill();
        }
        self.stop_process(interrupted)?;
        self.start_again(false, interrupted)?;
        self.rejoin(interrupted)
    }

    /// Starts the server, or those of its processes that were killed, with the same data, port, and
    /// password; returns when it accepted connections. With `bootstraps`, it bootstraps its group.
    pub(crate) fn start_again(
        &mut self,
        bootstraps: bool,
        interrupted: &AtomicBool,
    ) -> Result<Instant, Failure> {
        if let Some(running) = &mut self.running {
            self.launcher
                .start_rest(running, &self.data, self.port, interrupted)?;
            return Ok(Instant::now());
        }
        let port = self.port;
        let again = Start::Again { port, bootstraps };
        self.recovered = None;
        let started = self.launcher.start(&self.data, again, interrupted)?;
        self.running = Some(started.running);
        self.notes = started.notes;
        self.public_key = started.public_key;
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
        let process = self.running.take().map_or(Ok(()), |mut one| one.end());
        let site = self.launcher.site.end();
        let data = self.data.end();
        process.and(site).and(data)
    }

    fn stop_process(&mut self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let Some(mut running) = self.running.take() else {
            return Ok(());
        };
        if running.is_paused() {
            running.resume();
        }
        let signal = self.launcher.installed.engine.traits().stop_signal;
        match running.stop(signal, STOP_LIMIT, interrupted)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => {
                let how = self.site().how_it_ended(status);
                Err(Failure::server(self.describe_end(&how)))
            }
            None => Err(self.launcher.too_slow("stop", STOP_LIMIT, &self.log())),
        }
    }

    fn describe_end(&self, how: &str) -> String {
        let lines = log::last_lines(&self.log());
        format!("{} {how}; its log ends:\n{lines}", self.name())
    }

    fn log(&self) -> String {
        log::read_tail(&self.log_path(), 0)
    }
}

#[cfg(test)]
mod tests;
