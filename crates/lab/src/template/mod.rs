//! Prepared data directories: built once for each engine, version and data, kept in
//! the cache, and copied for each server of each trial.
//!
//! ```text
//! CACHE/templates/ENGINE-10.11.14-25x25000-1f0c….lock   held while it is built or used
//! CACHE/templates/ENGINE-10.11.14-25x25000-1f0c…/template.json, data/
//! ```
//!
//! A template is built below the run directory and moved to its place when it is whole:
//! what was interrupted is never used, and is swept with the run directory.

mod build;
pub(crate) mod cache;
mod recipe;

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::thread::sleep;
use std::time::Duration;

use engine::data::{Listener, Progress, Wanted};
use engine::{Installed, Server};
use host::Files;

pub use crate::copy::Copied;
use crate::copy::copy_dir;
use crate::error::LabError;
use crate::home::lock::Lock;
use crate::home::{self, Home};
use crate::needs;
use crate::servers::DataDir;
use crate::site::{Site, ThisHost};
use crate::volume;
use build::Builder;
pub(crate) use recipe::Recipe;

/// The database that holds the tables.
pub const DATABASE: &str = "sbtest";
/// How often a template that another dyno builds is looked for.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// A prepared data directory. While it lives, no dyno removes it from the cache: keep it
/// as long as trials will copy it.
#[derive(Debug)]
pub struct Template {
    home: Home,
    dir: PathBuf,
    /// What it takes on the disk.
    pub bytes: u64,
    /// How long it took to build, whenever that was.
    pub build_time: Duration,
    /// It was built just now, and not found in the cache.
    pub was_built: bool,
    /// Count and checksum of all rows: `250000 rows, crc 1f0c22aa`. None without data.
    pub checksum: Option<String>,
    /// Given back before the cache is tidied.
    lock: Option<Lock>,
}

/// Has a template of the data that a load needs: from the cache, or built now, once
/// even if several dynos want it at the same time. Settings that decide the form of
/// the files, such as the size of a page, are taken from `config`.
///
/// # Errors
/// Whatever keeps the data from being built: a refused setting, a server that fails, a
/// full disk, the user's wish to stop. Nothing half-built stays.
pub fn obtain(
    home: &Home,
    installed: &Installed,
    wanted: &Wanted<'_>,
    config: &[(String, String)],
    mut listener: Listener<'_>,
) -> Result<Template, LabError> {
    installed.engine.check_settings(config)?;
    let builder = Builder::new(home, installed, config);
    let recipe = Recipe::with_data(installed, config, wanted);
    get(home, &recipe, &mut listener, &mut |listener| {
        builder.build(wanted, &plan::Volume::default(), listener)
    })
}

/// A template without tables: an initialised server with an empty database.
///
/// # Errors
/// As [`obtain`]'s.
pub fn obtain_empty(
    home: &Home,
    installed: &Installed,
    config: &[(String, String)],
    mut listener: Listener<'_>,
) -> Result<Template, LabError> {
    installed.engine.check_settings(config)?;
    let builder = Builder::new(home, installed, config);
    builder.base(&mut listener)
}

/// Builds the data for one node on a volume of this kind, without the cache; returns how long
/// that took.
///
/// # Errors
/// As [`obtain`]'s.
pub fn rebuild(
    home: &Home,
    installed: &Installed,
    wanted: &Wanted<'_>,
    config: &[(String, String)],
    volume: &plan::Volume,
    mut listener: Listener<'_>,
) -> Result<(DataDir, Duration), LabError> {
    installed.engine.check_settings(config)?;
    let builder = Builder::new(home, installed, config);
    let built = builder.build(wanted, volume, &mut listener)?;
    Ok((built.data, built.took))
}

/// What the cached template of this data takes on the disk, and how long it took to
/// build; `None` if it is still to be built.
///
/// # Errors
/// When the cache cannot be read.
pub fn cached(
    home: &Home,
    installed: &Installed,
    wanted: &Wanted<'_>,
    config: &[(String, String)],
) -> Result<Option<(u64, Duration)>, LabError> {
    let recipe = Recipe::with_data(installed, config, wanted);
    let about = cache::read(&home.templates().join(recipe.key()), &recipe)?;
    Ok(about.map(|about| (about.bytes, about.build_time())))
}

/// What the prepared data of a load takes in the cache at `root`, for a version of the
/// server that `takes` accepts; `None` if it is still to be built. Takes no lock.
pub(crate) fn bytes_in(
    root: &Path,
    engine: &dyn Server,
    takes: &dyn Fn(&str) -> bool,
    wanted: &Wanted<'_>,
    config: &[(String, String)],
) -> Option<u64> {
    let fits = |recipe: &Recipe| recipe.is_of(engine, config, wanted) && takes(recipe.version());
    cache::bytes_of(&home::templates_in(root), &fits)
}

/// Finds the template or has it built, and holds it.
fn get(
    home: &Home,
    recipe: &Recipe,
    listener: &mut Listener<'_>,
    build: &mut dyn FnMut(&mut Listener<'_>) -> Result<build::Built, LabError>,
) -> Result<Template, LabError> {
    let dir = home.templates().join(recipe.key());
    let lock_path = cache::lock_path(&dir);
    let (mut was_built, mut is_told) = (false, false);
    loop {
        if let Some(lock) = Lock::try_shared(&lock_path)?
            && let Some(about) = cache::read(&dir, recipe)?
        {
            cache::mark_used(&dir);
            return Ok(Template {
                home: home.clone(),
                bytes: about.bytes,
                build_time: about.build_time(),
                was_built,
                checksum: about.checksum,
                dir,
                lock: Some(lock),
            });
        }
        if let Some(lock) = Lock::try_exclusive(&lock_path)? {
            if cache::read(&dir, recipe)?.is_none() {
                let built = build(listener)?;
                cache::put(home, &dir, recipe, built)?;
                if let Err(error) = cache::tidy(home) {
                    let note = format!("the cache is over its limit: {error}");
                    (listener.tell)(Progress::Note(note));
                }
                was_built = true;
            }
            drop(lock);
            continue;
        }
        if listener.interrupted.load(Ordering::Relaxed) {
            return Err(LabError::Interrupted);
        }
        if !is_told {
            let note = "another dyno is building this data; waiting for it".to_owned();
            (listener.tell)(Progress::Note(note));
            is_told = true;
        }
        sleep(POLL_INTERVAL);
    }
}

impl Template {
    /// Copies it for server `number`, in dyno's cache.
    ///
    /// # Errors
    /// As [`Template::copy_to`]'s.
    pub fn copy(&self, number: u32) -> Result<(DataDir, Copied), LabError> {
        self.copy_to(
            number,
            &plan::Volume::default(),
            ThisHost::default().files(),
        )
    }

    /// Copies it for server `number` to a volume of this kind, on the machine with these files.
    ///
    /// # Errors
    /// When the disk has no room, with the numbers, or the operating system refuses.
    pub fn copy_to(
        &self,
        number: u32,
        volume: &plan::Volume,
        files: &dyn Files,
    ) -> Result<(DataDir, Copied), LabError> {
        let target = DataDir::new(&self.home, &format!("s{number}."), volume)?;
        let copied = copy_dir(&self.dir.join("data"), &target.data(), self.home.account());
        match copied {
            Ok(copied) => Ok((target, copied)),
            Err(error) if error.is_disk_full() => {
                drop(target);
                let disk = volume::disk(&self.home, volume);
                Err(LabError::DiskFull {
                    what: format!("the copy of the data for server {number}"),
                    path: disk.to_owned(),
                    needed_bytes: self.bytes,
                    free_bytes: needs::free_bytes(files, disk)?,
                })
            }
            Err(error) => Err(error),
        }
    }
}

impl Drop for Template {
    fn drop(&mut self) {
        drop(self.lock.take());
        // One that is larger than the whole cache was kept only for this run. What
        // cannot be removed now is removed when the next template is built.
        let _ = cache::tidy(&self.home);
    }
}
