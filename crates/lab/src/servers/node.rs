//! A server that runs.

use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use engine::{Database, Login};

use crate::account::Account;
use crate::error::LabError;
use crate::home::{shared_memory, survivors};
use crate::platform::cgroup::Group;
use crate::process;
use crate::servers::password::Password;
use crate::servers::start::{Recipe, Started};
use crate::servers::{DataDir, log};

/// How long a server may take to write what it holds when it is asked to end.
const STOP_LIMIT: Duration = Duration::from_secs(300);
/// How long a busy kernel may take to tell of an end that the network told of already.
const NEWS_LIMIT: Duration = Duration::from_secs(5);

/// A server of this process. Dropping it kills it, reaps it, and removes its directory.
#[derive(Debug)]
pub struct Node {
    recipe: Recipe,
    /// Stands before `data`: the process ends before its directory goes.
    running: Option<Running>,
    port: u16,
    notes: Vec<String>,
    public_key: Option<Vec<u8>>,
    data: DataDir,
}

/// A process that does not outlive this value, nor do those that it started.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    /// The server's directory, as which its processes are known.
    dir: PathBuf,
    account: Account,
    /// Limits its CPU time; goes after it.
    group: Option<Group>,
}

impl Running {
    /// A process that has just been started, from now on in this group.
    pub(super) fn new(
        child: Child,
        group: Option<Group>,
        data: &DataDir,
    ) -> Result<Self, LabError> {
        let running = Self {
            child,
            dir: data.dir().to_owned(),
            account: data.home().account().clone(),
            group,
        };
        shared_memory::note(&running.dir, running.child.id())?;
        if let Some(group) = &running.group {
            group.add(running.child.id())?;
        }
        Ok(running)
    }

    fn group_dir(&self) -> Option<&Path> {
        self.group.as_ref().map(Group::dir)
    }

    /// How it ended, if it has.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok().flatten()?;
        Some(process::how_it_ended(status))
    }

    /// The same, when it is known to be ending.
    pub(super) fn ended_soon(&mut self) -> Option<String> {
        process::wait(&mut self.child, NEWS_LIMIT).map(process::how_it_ended)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        process::kill(&mut self.child);
        // Some servers consist of processes that each lead a group, and outlive their parent
        // for a moment. What cannot be ended now is found when the run directory is swept.
        let _ = survivors::end(&self.dir, &self.account);
        shared_memory::remove_noted(&self.dir, &self.account);
    }
}

impl Node {
    pub(super) fn new(recipe: Recipe, started: Started, data: DataDir) -> Self {
        Self {
            recipe,
            running: Some(started.running),
            port: started.port,
            notes: started.notes,
            public_key: started.public_key,
            data,
        }
    }

    /// The control group that limits its CPU time, where one does.
    #[must_use]
    pub fn group_dir(&self) -> Option<&Path> {
        self.running.as_ref().and_then(Running::group_dir)
    }

    /// Its place among the servers of the trial.
    #[must_use]
    pub fn number(&self) -> u32 {
        self.recipe.number
    }

    /// Its number, engine and version.
    #[must_use]
    pub fn name(&self) -> String {
        self.recipe.name()
    }

    /// Its process; `None` after [`Node::kill`].
    #[must_use]
    pub fn pid(&self) -> Option<u32> {
        self.running.as_ref().map(|running| running.child.id())
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Its Unix socket.
    #[must_use]
    pub fn socket(&self) -> PathBuf {
        let engine = self.recipe.installed.engine;
        engine.socket(&self.data.own(), self.port)
    }

    /// Its data directory.
    #[must_use]
    pub fn data_dir(&self) -> PathBuf {
        self.data.data()
    }

    /// Its error log, which stays when it is gone.
    #[must_use]
    pub fn log_path(&self) -> PathBuf {
        self.recipe.log_path()
    }

    /// The address of a database as `root`, without the password.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        self.recipe.installed.engine.url(self.port, database)
    }

    /// The password of `root`: for this run of the server's data.
    #[must_use]
    pub fn password(&self) -> &str {
        self.recipe.password.text()
    }

    /// Opens a database as `root` over TCP, without TLS.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub fn open(&self, database: &str) -> Result<Arc<dyn Database>, LabError> {
        let (password, key) = (self.password(), self.public_key.as_deref());
        let engine = self.recipe.installed.engine;
        Ok(engine.connect(self.port, database, password, key)?)
    }

    /// The key with which the server takes passwords over TCP (PEM), where it has one.
    #[must_use]
    pub fn public_key(&self) -> Option<&[u8]> {
        self.public_key.as_deref()
    }

    /// The settings of the study that the server corrected or warned about, in its words.
    #[must_use]
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Takes the password of `root` away, now and at restarts: for tests, whose clients are
    /// not all dyno's.
    ///
    /// # Errors
    /// When the server cannot be reached, or refuses.
    pub fn remove_password(&mut self) -> Result<(), LabError> {
        let none = Password::default();
        let login = Login {
            server: &self.name(),
            socket: &self.socket(),
            password: self.password(),
        };
        let engine = self.recipe.installed.engine;
        engine.set_password(&login, none.text())?;
        self.recipe.password = none;
        Ok(())
    }

    /// `None` while it runs; else how it ended, with the last lines of its log.
    pub fn exited(&mut self) -> Option<String> {
        let how = match &mut self.running {
            Some(running) => running.ended()?,
            None => "was killed by dyno".to_owned(),
        };
        Some(self.obituary(&how))
    }

    /// The same when a connection to it has just broken, which is known a little earlier.
    pub fn exited_soon(&mut self) -> Option<String> {
        if let Some(running) = &mut self.running {
            running.ended_soon()?;
        }
        self.exited()
    }

    /// Kills it as `kill -9` would, and reaps it. Its directory stays until it is dropped.
    pub fn kill(&mut self) {
        self.running = None;
    }

    /// Kills it if it runs, and starts it on the same data. The port stays the same
    /// if it is still free.
    ///
    /// # Errors
    /// As [`crate::servers::start`]'s.
    pub fn restart(&mut self, interrupted: &AtomicBool) -> Result<(), LabError> {
        self.kill();
        let started = self
            .recipe
            .start(&self.data, Some(self.port), interrupted)?;
        self.running = Some(started.running);
        self.port = started.port;
        self.notes = started.notes;
        self.public_key = started.public_key;
        Ok(())
    }

    /// Asks it to end, waits until it has, at most 300 s, and removes its directory.
    ///
    /// # Errors
    /// When it does not end in time or before the user has had enough, for which it is
    /// killed, or ends with a failure.
    pub fn stop(self, interrupted: &AtomicBool) -> Result<(), LabError> {
        self.stop_and_keep_data(interrupted).map(drop)
    }

    /// The same, but its data stays.
    pub(crate) fn stop_and_keep_data(
        mut self,
        interrupted: &AtomicBool,
    ) -> Result<DataDir, LabError> {
        let Some(mut running) = self.running.take() else {
            return Ok(self.data);
        };
        let signal = self.recipe.installed.engine.stop_signal();
        process::terminate(&mut running.child, signal);
        match process::finish(&mut running.child, STOP_LIMIT, interrupted)? {
            Some(status) if status.success() => Ok(self.data),
            Some(status) => {
                let how = process::how_it_ended(status);
                Err(LabError::Ended(self.obituary(&how)))
            }
            None => Err(self.recipe.too_slow("stop", STOP_LIMIT, &self.log())),
        }
    }

    fn obituary(&self, how: &str) -> String {
        let lines = log::last_lines(&self.log());
        format!("{} {how}; its log ends:\n{lines}", self.name())
    }

    fn log(&self) -> String {
        log::read_tail(&self.log_path(), 0)
    }
}
