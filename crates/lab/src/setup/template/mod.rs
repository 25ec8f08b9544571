//! Templates: prepared data directories that are built once for each engine, version and data, kept
//! in the cache, and copied for each server of each trial.
//!
//! ```text
//! CACHE/templates/ENGINE-10.11.14-25x25000-1f0c….lock   held while it is built or used
//! CACHE/templates/ENGINE-10.11.14-25x25000-1f0c…/template.json, data/
//! ```
//!
//! A template is built in the run directory and moved to its final path when it is complete. A
//! partial one is therefore never used, and is removed with the run directory.

mod build;
pub(crate) mod cache;
mod recipe;

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::thread::sleep;
use std::time::Duration;

use engine::data::{Listener, Progress, Wanted};
use engine::{Installed, Server, Settings};
use host::Files;

pub use crate::copy::Copied;
use crate::failure::{Failure, disk_full, is_disk_full, unless_canceled};
use crate::home::Home;
use crate::home::lock::Lock;
use crate::process::NEVER;
use crate::setup::needs;
use crate::setup::servers::DataDir;
use crate::site::{Site, ThisHost};
use crate::volume;
pub use build::Built;
pub(crate) use cache::About;
pub(crate) use recipe::Recipe;

/// The database that holds the tables.
pub const DATABASE: &str = "sbtest";
/// How often to check for a template that another dyno is building.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A prepared data directory. While this value exists, no dyno removes it from the cache.
#[derive(Debug)]
pub struct Template {
    home: Home,
    engine: &'static dyn Server,
    dir: PathBuf,
    /// Disk space of the template.
    pub bytes: u64,
    /// How long building it took, even if another run built it.
    pub build_time: Duration,
    /// Whether it was built now rather than found in the cache.
    pub was_built: bool,
    /// Count and checksum of all rows, for example `250000 rows, crc 1f0c22aa`; `None` without
    /// tables.
    pub checksum: Option<String>,
    /// Released before the cache is trimmed.
    lock: Option<Lock>,
}

/// The templates of a server program with some settings.
pub struct Templates<'a> {
    home: &'a Home,
    installed: &'a Installed,
    /// Settings that determine the format of the files, such as the page size.
    format: Vec<(String, String)>,
}

impl<'a> Templates<'a> {
    pub fn new(
        home: &'a Home,
        installed: &'a Installed,
        config: &Settings,
    ) -> Result<Self, Failure> {
        installed.engine.check_settings(config)?;
        Ok(Self {
            home,
            installed,
            format: installed.engine.format_settings(config),
        })
    }

    /// Returns a template of the data that a load needs, from the cache or built now; it is built
    /// only once even if several dynos need it.
    pub fn obtain(
        &self,
        wanted: &Wanted<'_>,
        mut listener: Listener<'_>,
    ) -> Result<Template, Failure> {
        let recipe = Recipe::with_data(self.installed, &self.format, wanted);
        self.get(&recipe, &mut listener, &mut |listener| {
            self.build(wanted, &plan::Node::default(), listener)
        })
    }

    /// The template that another host has prepared: from the cache, or of the data that was received
    /// from there; `None` without either.
    pub(crate) fn prepared(
        &self,
        about: &About,
        received: Option<DataDir>,
        interrupted: &AtomicBool,
    ) -> Result<Option<Template>, Failure> {
        let (mut received, mut is_missing) = (received, false);
        let mut listener = Listener {
            tell: &mut |_| {},
            interrupted,
        };
        let got = self.get(&about.recipe, &mut listener, &mut |_| {
            is_missing = received.is_none();
            let data = received.take();
            let data = data.ok_or_else(|| Failure::internal("no data was received"))?;
            Ok(build::Built::elsewhere(data, about))
        });
        match is_missing {
            true => Ok(None),
            false => got.map(Some),
        }
    }

    /// Returns a template without tables: an initialized server with an empty database.
    pub fn empty(&self, listener: &mut Listener<'_>) -> Result<Template, Failure> {
        let recipe = Recipe::empty(self.installed, &self.format);
        self.get(&recipe, listener, &mut |listener| {
            self.initialize(listener.interrupted)
        })
    }

    /// Disk space of the cached template of this data; `None` if it does not exist.
    pub fn cached_bytes(&self, wanted: &Wanted<'_>) -> Result<Option<u64>, Failure> {
        let recipe = Recipe::with_data(self.installed, &self.format, wanted);
        let about = cache::read(&self.home.templates().join(recipe.key()), &recipe)?;
        Ok(about.map(|about| about.bytes))
    }

    /// Finds or builds a template, and holds its lock.
    fn get(
        &self,
        recipe: &Recipe,
        listener: &mut Listener<'_>,
        build: &mut dyn FnMut(&mut Listener<'_>) -> Result<build::Built, Failure>,
    ) -> Result<Template, Failure> {
        let dir = self.home.templates().join(recipe.key());
        let lock_path = cache::lock_path(&dir);
        let (mut was_built, mut is_reported) = (false, false);
        loop {
            if let Some(lock) = Lock::try_shared(&lock_path)?
                && let Some(about) = cache::read(&dir, recipe)?
            {
                cache::mark_used(&dir);
                return Ok(Template {
                    home: self.home.clone(),
                    engine: self.installed.engine,
                    bytes: about.bytes,
                    build_time: about.build_time(),
                    was_built,
                    checksum: about.checksum,
                    dir,
                    lock: Some(lock),
                });
            }
            if let Some(_lock) = Lock::try_exclusive(&lock_path)? {
                if cache::read(&dir, recipe)?.is_none() {
                    let built = build(listener)?;
                    cache::put(self.home, &dir, recipe, built)?;
                    if let Err(error) = cache::trim(self.home) {
                        let note = format!("cannot trim the cache to its size limit: {error}");
                        (listener.tell)(Progress::Note(note));
                    }
                    was_built = true;
                }
                continue;
            }
            unless_canceled(listener.interrupted)?;
            if !is_reported {
                let note = "another dyno is building this data; waiting for it".to_owned();
                (listener.tell)(Progress::Note(note));
                is_reported = true;
            }
            sleep(POLL_INTERVAL);
        }
    }
}

impl Template {
    pub(crate) fn about(&self) -> Result<About, Failure> {
        let missing = || Failure::internal("a template in use was removed");
        cache::read_any(&self.dir)?.ok_or_else(missing)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Copies the data for server `number`, within the cache.
    pub fn copy(&self, number: u32) -> Result<(DataDir, Copied), Failure> {
        let node = plan::Node::default();
        self.copy_to(number, &node, ThisHost::default().files(), &NEVER)
    }

    /// Copies the data for server `number` to volumes of `node`, on the machine with these files.
    pub fn copy_to(
        &self,
        number: u32,
        node: &plan::Node,
        files: &dyn Files,
        interrupted: &AtomicBool,
    ) -> Result<(DataDir, Copied), Failure> {
        let target = DataDir::new(&self.home, &format!("s{number}."), node, interrupted)?;
        match target.fill(&self.data(), self.engine, interrupted) {
            Ok(copied) => Ok((target, copied)),
            Err(error) if is_disk_full(&error) => {
                drop(target);
                let disk = volume::disk(&self.home, &node.volume);
                let what = format!("the copy of the data for server {number}");
                let free_bytes = needs::space(files, disk)?.free_bytes;
                Err(disk_full(&what, disk, self.bytes, free_bytes))
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        drop(self.lock.take());
        // A template larger than the whole cache was kept for this run only. What cannot be removed
        // now is removed when the next template is built.
        let _ = cache::trim(&self.home);
    }
}
