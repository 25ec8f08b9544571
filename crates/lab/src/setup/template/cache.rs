//! The templates in the cache: their descriptions, and which of them to remove when they take too
//! much space.

use std::fs::{self, DirBuilder, File};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::syncfs;
use serde::{Deserialize, Serialize};

use super::build::Built;
use super::recipe::{self, Recipe};
use crate::failure::{Fact, Failure};
use crate::home::lock::Lock;
use crate::home::{Cleaned, Home, Leftover};
use crate::tree::{self, OpenDir};

const LOCK_SUFFIX: &str = ".lock";
/// Name of a template's description. Its modification time is when the template was last used.
const ABOUT: &str = "template.json";
/// Maximum size of a description.
const ABOUT_BYTES: u64 = 64 * 1024;

/// The description of a template.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct About {
    pub(super) recipe: Recipe,
    /// Disk space of the template.
    pub(super) bytes: u64,
    build_s: f64,
    pub(super) checksum: Option<String>,
}

impl About {
    /// Whether both are of the same data.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.recipe == other.recipe
    }

    pub(super) fn build_time(&self) -> Duration {
        Duration::try_from_secs_f64(self.build_s).unwrap_or_default()
    }
}

/// The path of a template's lock, which is beside the template and created before it.
pub(super) fn lock_path(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(LOCK_SUFFIX);
    path.into()
}

/// Reads the description of a complete template; `None` if there is none with this recipe.
pub(super) fn read(dir: &Path, recipe: &Recipe) -> Result<Option<About>, Failure> {
    let about = read_any(dir)?;
    Ok(about.filter(|about| about.recipe == *recipe))
}

/// Disk space of the first template whose recipe fits. Takes no lock.
pub(crate) fn bytes_of(templates: &Path, fits: impl Fn(&Recipe) -> bool) -> Option<u64> {
    let entries = fs::read_dir(templates).ok()?.flatten();
    let abouts = entries.filter_map(|entry| read_any(&entry.path()).ok().flatten());
    let mut fitting = abouts.filter(|about| fits(&about.recipe));
    fitting.next().map(|about| about.bytes)
}

pub(super) fn read_any(dir: &Path) -> Result<Option<About>, Failure> {
    let path = dir.join(ABOUT);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(Failure::at("read", &path)(error)),
    };
    // A template with an unreadable description is built again.
    Ok(serde_json::from_reader(std::io::Read::take(file, ABOUT_BYTES)).ok())
}

pub(super) fn mark_used(dir: &Path) {
    let marked = File::options().write(true).open(dir.join(ABOUT));
    // Not fatal: the template is only removed earlier.
    let _ = marked.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Moves a new template to its final path, atomically. The caller holds its lock.
pub(super) fn put(home: &Home, dir: &Path, recipe: &Recipe, built: Built) -> Result<(), Failure> {
    let whole = home.new_path("template");
    // The servers' account owns the data but cannot enter the directory.
    let made = DirBuilder::new().mode(0o700).create(&whole);
    made.map_err(Failure::at("create", &whole))?;
    let (from, to) = (built.data.data(), whole.join("data"));
    fs::rename(&from, &to).map_err(Failure::at("move", &from))?;
    // `OpenDir` refuses a link that the account may have put there. The loading server does not
    // wait for the disk, but a crash of the machine must not leave a template without its files.
    let synced = syncfs(OpenDir::open(&to)?);
    synced.map_err(Failure::at("write to disk", &to))?;
    let about = About {
        recipe: recipe.clone(),
        bytes: tree::used_bytes(&to),
        build_s: built.took.as_secs_f64(),
        checksum: built.checksum,
    };
    write(&whole.join(ABOUT), &about)?;
    // It has another recipe or is damaged.
    remove_dir(dir)?;
    fs::rename(&whole, dir).map_err(Failure::at("move", &whole))?;
    let parent = home.templates();
    let synced = File::open(&parent).and_then(|folder| folder.sync_all());
    synced.map_err(Failure::at("write", &parent))
}

/// Writes the description of a template and syncs it to disk.
fn write(path: &Path, about: &About) -> Result<(), Failure> {
    let mut text = serde_json::to_vec_pretty(about).map_err(Failure::at("write", path))?;
    text.push(b'\n');
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.map_err(Failure::at("write", path))
}

/// Removes a template, if it exists, whose lock the caller holds. Removes its description first, so
/// that what a kill leaves behind is not a complete template.
fn remove_dir(dir: &Path) -> Result<(), Failure> {
    match OpenDir::open(dir) {
        Err(error) if error.is(Fact::Io(ErrorKind::NotFound)) => Ok(()),
        opened => {
            opened?.remove_file(ABOUT)?;
            tree::remove(dir)
        }
    }
}

/// Removes the least recently used templates until the rest is within the limit. Templates in use
/// stay.
pub(super) fn trim(home: &Home) -> Result<(), Failure> {
    let mut kept = entries(&home.templates())?;
    kept.retain(|entry| entry.exists);
    kept.sort_by_key(|entry| entry.used);
    let mut total: u64 = kept.iter().map(|entry| entry.bytes).sum();
    for entry in kept {
        if total <= home.cache_limit_bytes() {
            break;
        }
        if remove(&entry.dir)? {
            total = total.saturating_sub(entry.bytes);
        }
    }
    Ok(())
}

/// Removes every template that is not in use, and the locks of those that were never built. Adds
/// their number, their disk space, and what could not be removed.
pub(crate) fn remove_unused(templates: &Path, cleaned: &mut Cleaned) -> Result<(), Failure> {
    for entry in entries(templates)? {
        match remove(&entry.dir) {
            Ok(true) if entry.exists => {
                cleaned.templates += 1;
                cleaned.bytes += entry.bytes;
            }
            Ok(_) => {}
            Err(failure) => {
                let path = match entry.exists {
                    true => entry.dir,
                    false => lock_path(&entry.dir),
                };
                cleaned.left.push(Leftover { path, failure });
            }
        }
    }
    Ok(())
}

/// A template with a lock.
struct Entry {
    dir: PathBuf,
    /// Without its directory, it was never built.
    exists: bool,
    bytes: u64,
    used: SystemTime,
}

/// The templates that dyno created, complete or damaged, or that were never built, recognized by
/// the names of their locks.
fn entries(templates: &Path) -> Result<Vec<Entry>, Failure> {
    let files = match fs::read_dir(templates) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        files => files.map_err(Failure::at("read", templates))?,
    };
    let mut found = Vec::new();
    for file in files {
        let name = file.map_err(Failure::at("read", templates))?.file_name();
        // dyno creates only UTF-8 names.
        let key = name
            .to_str()
            .and_then(|name| name.strip_suffix(LOCK_SUFFIX));
        let Some(key) = key.filter(|key| recipe::is_key(key)) else {
            continue;
        };
        let dir = templates.join(key);
        let metadata = fs::symlink_metadata(&dir).ok();
        if metadata.as_ref().is_some_and(|metadata| !metadata.is_dir()) {
            continue;
        }
        // Without a readable description, it is damaged.
        let bytes = match read_any(&dir) {
            Ok(Some(about)) => about.bytes,
            Ok(None) | Err(_) => tree::used_bytes(&dir),
        };
        let used = fs::symlink_metadata(dir.join(ABOUT)).and_then(|meta| meta.modified());
        found.push(Entry {
            dir,
            exists: metadata.is_some(),
            bytes,
            used: used.unwrap_or(SystemTime::UNIX_EPOCH),
        });
    }
    Ok(found)
}

/// Removes a template that has a lock, unless it is in use.
fn remove(dir: &Path) -> Result<bool, Failure> {
    let lock_path = lock_path(dir);
    let Some(_lock) = Lock::try_existing(&lock_path)? else {
        return Ok(false);
    };
    remove_dir(dir)?;
    // A process that waits for the lock checks whether its path still names the same file.
    fs::remove_file(&lock_path).map_err(Failure::at("remove", &lock_path))?;
    Ok(true)
}
