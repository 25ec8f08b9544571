//! dyno's cache on this host: templates, and one directory for each running dyno process.
//!
//! ```text
//! CACHE/.dyno-directory   marks the directory as dyno's: see `marker`
//! CACHE/lock              held while a run directory is created, claimed or removed
//! CACHE/noise.json        the noise of this host, for comparisons in turns
//! CACHE/templates/        prepared data: see `lab::template`
//! CACHE/run/5e1c…/host    the host that it belongs to: see `run_dir`
//! CACHE/run/5e1c…/lock    held as long as that process lives
//! CACHE/run/5e1c…/s1.0/   one of its servers: see `lab::servers::DataDir`
//! ```
//!
//! Everything that a killed dyno leaves behind is in its run directory, whose lock the kernel then
//! releases: that is how the next run knows what to clean up. Whatever dyno creates or changes
//! elsewhere is first recorded there: see `journal`.
//!
//! But for `remote`, this module and [`crate::port`] see only this host, whatever sites a study has:
//! the processes, shared memory, mounts and ports of a run are those of the machine on which dyno
//! runs.

pub(crate) mod containers;
pub(crate) mod journal;
pub mod lock;
pub(crate) mod marker;
pub(crate) mod mounted;
pub mod outside;
pub(crate) mod remote;
pub(crate) mod root;
mod run_dir;
pub mod scheduler;
pub mod survivors;
mod sweep;
pub(crate) mod trust;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::Account;
use crate::process;
use journal::{Journal, Step, Undo};
use lock::Lock;

use crate::failure::Failure;

pub use sweep::undo_steps;

/// Name of the lock files in the cache and in each run directory.
const LOCK: &str = "lock";
/// The default of `DYNO_CACHE_LIMIT`.
const CACHE_LIMIT_BYTES: u64 = 20 << 30;

/// The cache, and this process's run directory in it. Clones share both; the run directory is
/// removed with the last clone and the last server in it.
#[derive(Debug, Clone)]
pub struct Home {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    root: PathBuf,
    run: PathBuf,
    account: Account,
    cache_limit_bytes: u64,
    next: AtomicU32,
    journal: Arc<Journal>,
    swept: Cleaned,
    /// Dropped after the directory is removed.
    _lock: Lock,
}

/// What a cleanup removed, and what it could not.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Killed processes of dead runs.
    pub processes: u32,
    /// Removed run directories of dead runs.
    pub run_dirs: u32,
    pub templates: u32,
    /// Disk space of everything that was removed.
    pub bytes: u64,
    /// Directories on disks that are not mounted; their run directories stay.
    pub unmounted: Vec<Unmounted>,
    pub left: Vec<Leftover>,
}

/// A directory of a dead run on a disk that is not mounted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmounted {
    pub path: PathBuf,
    /// The run directory, whose journal has the directory; it can be removed if the disk is gone
    /// for good.
    pub run: PathBuf,
}

/// Something that a dead run left behind and that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its directory in the cache.
    pub path: PathBuf,
    pub failure: Failure,
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { path, failure } = self;
        write!(f, "could not remove {}: {failure}", path.display())?;
        match &failure.remedy {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

/// The cache's directory, which need not exist. Creates nothing.
pub fn place() -> Result<PathBuf, Failure> {
    root::from_environment()
}

pub fn templates_in(root: &Path) -> PathBuf {
    root.join(root::TEMPLATES)
}

/// Creates the cache that [`Home::open`] opens, for what is not of servers. Returns its path.
pub fn make() -> Result<PathBuf, Failure> {
    root::make(&root::from_environment()?)
}

impl Home {
    /// Opens the cache at `$DYNO_CACHE_DIR`, else `/var/cache/dyno` for root, else
    /// `$XDG_CACHE_HOME/dyno` or `~/.cache/dyno`, with the size limit of
    /// `$DYNO_CACHE_LIMIT` (default 20 GiB), and removes what dead runs left behind.
    pub fn open(account: Account) -> Result<Self, Failure> {
        Self::open_in(&root::from_environment()?, cache_limit()?, account)
    }

    /// Like [`Home::open`], in the directory `root`. `former` names the run directory of a process that ended
    /// when the host restarted; if it still exists, this process continues in it.
    pub fn open_at(root: &Path, account: Account, former: Option<&str>) -> Result<Self, Failure> {
        Self::open_to_go_on(root, cache_limit()?, account, former)
    }

    /// Like [`Home::open`], in the directory `root` and with a given limit.
    pub fn open_in(root: &Path, cache_limit_bytes: u64, account: Account) -> Result<Self, Failure> {
        Self::open_to_go_on(root, cache_limit_bytes, account, None)
    }

    fn open_to_go_on(
        root: &Path,
        cache_limit_bytes: u64,
        account: Account,
        former: Option<&str>,
    ) -> Result<Self, Failure> {
        let root = root::prepare(root, &account)?;
        // Another process must not claim the new directory before it is locked.
        let whole = Lock::exclusive(&root.join("lock"))?;
        let former = former.map(|name| sweep::take_over(&root, name, &account));
        let (run, own) = match former.transpose()?.flatten() {
            Some(former) => former,
            None => {
                let run = run_dir::make(&root)?;
                let own = Lock::exclusive(&run.join(LOCK))?;
                (run, own)
            }
        };
        let journal = Arc::new(Journal::open(&run)?);
        let found = sweep::claim(&root)?;
        drop(whole);
        let home = Self {
            inner: Arc::new(Inner {
                swept: sweep::remove(&root, found, &account),
                next: AtomicU32::new(run_dir::first_free(&run)?),
                root,
                run,
                account,
                cache_limit_bytes,
                journal,
                _lock: own,
            }),
        };
        Ok(home)
    }

    /// The directory of the cache.
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// What opening the cache removed.
    pub fn swept(&self) -> &Cleaned {
        &self.inner.swept
    }

    pub fn account(&self) -> &Account {
        &self.inner.account
    }

    /// This process's run directory, which is removed soon after dyno ends.
    pub fn run_dir(&self) -> &Path {
        &self.inner.run
    }

    /// A unique path in the run directory.
    pub fn new_path(&self, prefix: &str) -> PathBuf {
        self.inner
            .run
            .join(format!("{prefix}{}", self.new_number()))
    }

    /// The number of a step, and the name of what it creates outside the run directory.
    pub(crate) fn new_name(&self) -> (u32, String) {
        let number = self.new_number();
        (
            number,
            format!("{}{number}", outside::own_prefix(&self.inner.run)),
        )
    }

    pub(crate) fn record(&self, number: u32, undo: Undo) -> Result<Step, Failure> {
        self.inner.journal.record(number, undo)
    }

    fn new_number(&self) -> u32 {
        self.inner.next.fetch_add(1, Ordering::Relaxed)
    }

    /// A command that runs `program` as the servers' account, with an environment that identifies
    /// this run.
    pub fn command(&self, program: &Path) -> Command {
        self.command_via(&[], program)
    }

    /// Like [`Home::command`], through an entry as in [`process::command`].
    pub(crate) fn command_via(&self, entry: &[OsString], program: &Path) -> Command {
        let mut command = process::command(&self.inner.account, entry, program);
        command.env(survivors::RUN_DIR, &self.inner.run);
        command
    }

    pub fn templates(&self) -> PathBuf {
        templates_in(&self.inner.root)
    }

    pub fn cache_limit_bytes(&self) -> u64 {
        self.inner.cache_limit_bytes
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // The next run removes what remains.
        let mut cleaned = Cleaned::default();
        let _ = sweep::remove_run(&self.root, &self.run, &self.account, &mut cleaned);
    }
}

/// Removes what dead runs left behind in the cache at `root`; returns its path without symbolic
/// links, `None` if there is no cache. Creates nothing, so that it works on a full disk.
pub fn remove_dead_runs(
    root: &Path,
    account: &Account,
) -> Result<Option<(PathBuf, Cleaned)>, Failure> {
    let Some(root) = root::find(root)? else {
        return Ok(None);
    };
    let whole = Lock::exclusive(&root.join(LOCK))?;
    let found = sweep::claim(&root)?;
    drop(whole);
    let cleaned = sweep::remove(&root, found, account);
    Ok(Some((root, cleaned)))
}

fn cache_limit() -> Result<u64, Failure> {
    let Some(text) = std::env::var_os("DYNO_CACHE_LIMIT").filter(|text| !text.is_empty()) else {
        return Ok(CACHE_LIMIT_BYTES);
    };
    let text = text.to_string_lossy();
    plan::parse_bytes(&text).ok_or_else(|| {
        Failure::usage(format!("DYNO_CACHE_LIMIT is {text:?}, which is not a size"))
            .remedy("write a size such as 20G, 500M or a number of bytes")
    })
}
