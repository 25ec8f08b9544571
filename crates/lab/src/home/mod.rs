//! dyno's place on this host: templates that are kept, and one directory for each
//! running dyno.
//!
//! ```text
//! CACHE/.dyno-directory   without it, dyno refuses the directory: see `marker`
//! CACHE/lock              held while a run directory is made, claimed or removed
//! CACHE/templates/        prepared data: see `template`
//! CACHE/run/5e1c…/lock    held as long as that dyno lives
//! CACHE/run/5e1c…/s1.0/   a server of it: see `servers::DataDir`
//! ```
//!
//! Whatever a killed dyno leaves is below its run directory, whose lock the kernel
//! then frees: that is how the next one knows what to sweep. What it makes elsewhere is
//! noted there first: see `outside`.

pub(crate) mod lock;
pub(crate) mod marker;
mod mounted;
pub(crate) mod outside;
mod root;
mod run_dir;
pub(crate) mod shared_memory;
pub(crate) mod survivors;
mod sweep;
pub(crate) mod trust;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::account::Account;
use crate::error::LabError;
use crate::process;
use crate::template::cache;
use lock::Lock;

pub use outside::Unseen;
pub(crate) use root::check_reachable;

/// The file in the cache, and in each run directory, that is locked.
const LOCK: &str = "lock";
/// What `DYNO_CACHE_LIMIT` is by default: 20 GiB.
const CACHE_LIMIT_BYTES: u64 = 20 << 30;

/// The cache, and this process's own run directory in it. Clones share both; the run
/// directory goes away with the last of them, and with the last server in it.
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
    swept: Cleaned,
    /// Dropped after the directory is gone.
    _lock: Lock,
}

/// What was removed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Processes of dead dynos that were ended.
    pub processes: u32,
    /// Run directories of dead dynos that were removed.
    pub run_dirs: u32,
    /// Templates that were removed.
    pub templates: u32,
    /// What all of them took on the disk.
    pub bytes: u64,
    /// What could not be looked for; its run directory stays.
    pub unseen: Vec<Unseen>,
    /// What could not be removed, and so stays.
    pub left: Vec<Leftover>,
}

/// Something of a dead dyno that could not be removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its directory in the cache.
    pub path: PathBuf,
    /// What is in the way.
    pub why: String,
    /// What to do about that.
    pub remedy: Option<String>,
}

impl Leftover {
    pub(crate) fn new(path: &Path, error: &LabError) -> Self {
        Self {
            path: path.to_owned(),
            why: error.to_string(),
            remedy: error.remedy(),
        }
    }
}

impl std::fmt::Display for Leftover {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "could not remove {}: {}", self.path.display(), self.why)?;
        match &self.remedy {
            Some(remedy) => write!(f, " ({remedy})"),
            None => Ok(()),
        }
    }
}

/// Where the cache is or would be; nothing is made there.
///
/// # Errors
/// When the environment names no place.
pub fn place() -> Result<PathBuf, LabError> {
    root::from_environment()
}

/// Where the templates of the cache at `root` are.
pub(crate) fn templates_in(root: &Path) -> PathBuf {
    root.join(root::TEMPLATES)
}

impl Home {
    /// Opens the cache at `$DYNO_CACHE_DIR`, else `/var/cache/dyno` for root, else
    /// `$XDG_CACHE_HOME/dyno` or `~/.cache/dyno`, with the size limit of
    /// `$DYNO_CACHE_LIMIT` (default 20 GiB), and sweeps what dead dynos left.
    ///
    /// # Errors
    /// When the place cannot be made, holds files that are not dyno's, is not this user's
    /// alone, or is closed to the user that servers run as. What cannot be swept is no error:
    /// see [`Cleaned::left`].
    pub fn open() -> Result<Self, LabError> {
        Self::open_in(&root::from_environment()?, cache_limit()?)
    }

    /// The same at a given place, with a given limit.
    ///
    /// # Errors
    /// As [`Home::open`]'s.
    pub fn open_in(root: &Path, cache_limit_bytes: u64) -> Result<Self, LabError> {
        let account = Account::for_servers()?;
        let root = root::prepare(root, &account)?;
        // Nobody may take the new directory for a dead dyno's before it is locked.
        let whole = Lock::exclusive(&root.join("lock"))?;
        let run = run_dir::make(&root)?;
        let own = Lock::exclusive(&run.join(LOCK))?;
        let found = sweep::claim(&root)?;
        drop(whole);
        let home = Self {
            inner: Arc::new(Inner {
                swept: sweep::remove(&root, found, &account),
                root,
                run,
                account,
                cache_limit_bytes,
                next: AtomicU32::new(0),
                _lock: own,
            }),
        };
        Ok(home)
    }

    /// The cache's directory.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.inner.root
    }

    /// What was swept when it was opened.
    #[must_use]
    pub fn swept(&self) -> &Cleaned {
        &self.inner.swept
    }

    /// Whom servers run as.
    #[must_use]
    pub fn account(&self) -> &Account {
        &self.inner.account
    }

    /// This process's directory: what is below it does not outlive dyno for long.
    #[must_use]
    pub fn run_dir(&self) -> &Path {
        &self.inner.run
    }

    /// A path in the run directory that nothing else has.
    pub(crate) fn new_path(&self, prefix: &str) -> PathBuf {
        let number = self.inner.next.fetch_add(1, Ordering::Relaxed);
        self.inner.run.join(format!("{prefix}{number}"))
    }

    /// A program to be started as the servers' account, known by its environment as one of
    /// this run.
    pub(crate) fn command(&self, program: &Path) -> Command {
        let mut command = process::command(&self.inner.account, program);
        command.env(survivors::RUN_DIR, &self.inner.run);
        command
    }

    pub(crate) fn templates(&self) -> PathBuf {
        templates_in(&self.inner.root)
    }

    pub(crate) fn cache_limit_bytes(&self) -> u64 {
        self.inner.cache_limit_bytes
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // What cannot be removed now is swept by the next dyno.
        let _ = sweep::remove_run_dir(&self.root, &self.run);
    }
}

/// Removes what dead dynos left, and with `templates` every template that no dyno
/// uses; says what that was, and what could not be removed.
///
/// # Errors
/// As [`Home::open`]'s.
pub fn clean(templates: bool) -> Result<Cleaned, LabError> {
    clean_in(&root::from_environment()?, templates)
}

/// The same at a given place. Nothing is made there, so that it works on a full disk.
///
/// # Errors
/// As [`Home::open`]'s.
pub fn clean_in(root: &Path, templates: bool) -> Result<Cleaned, LabError> {
    let Some(root) = root::find(root)? else {
        return Ok(Cleaned::default());
    };
    let account = Account::for_servers()?;
    let whole = Lock::exclusive(&root.join(LOCK))?;
    let found = sweep::claim(&root)?;
    drop(whole);
    let mut cleaned = sweep::remove(&root, found, &account);
    if templates {
        cache::remove_unused(&root.join(root::TEMPLATES), &mut cleaned)?;
    }
    Ok(cleaned)
}

fn cache_limit() -> Result<u64, LabError> {
    let Some(text) = std::env::var_os("DYNO_CACHE_LIMIT").filter(|text| !text.is_empty()) else {
        return Ok(CACHE_LIMIT_BYTES);
    };
    let text = text.to_string_lossy();
    measure::bytes::parse_bytes(&text).ok_or_else(|| LabError::CacheLimit(text.into_owned()))
}
