//! The templates that are kept: what each is, and which go when there are too many.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::build::Built;
use super::recipe::Recipe;
use crate::error::LabError;
use crate::home::Home;
use crate::home::lock::Lock;
use crate::sweep::used_bytes;

/// What a template says about itself. When it was last used is the file's own time.
const ABOUT: &str = "template.json";
/// The most of that file that is read.
const ABOUT_BYTES: u64 = 64 * 1024;

/// What a template is.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct About {
    recipe: Recipe,
    /// What it takes on the disk.
    pub(super) bytes: u64,
    build_s: f64,
    pub(super) checksum: Option<String>,
}

impl About {
    pub(super) fn build_time(&self) -> Duration {
        Duration::try_from_secs_f64(self.build_s).unwrap_or_default()
    }
}

/// The lock of a template, beside it: it is there before the template is.
pub(super) fn lock_path(dir: &Path) -> PathBuf {
    let mut path = dir.as_os_str().to_owned();
    path.push(".lock");
    path.into()
}

/// Reads what a whole template says of itself; `None` if there is none of that recipe.
pub(super) fn read(dir: &Path, recipe: &Recipe) -> Result<Option<About>, LabError> {
    let about = read_any(dir)?;
    Ok(about.filter(|about| about.recipe == *recipe))
}

/// What the prepared data takes that fits a recipe, of those below a directory of templates.
pub(super) fn bytes_of(templates: &Path, fits: &dyn Fn(&Recipe) -> bool) -> Option<u64> {
    let entries = fs::read_dir(templates).ok()?.flatten();
    let abouts = entries.filter_map(|entry| read_any(&entry.path()).ok().flatten());
    let mut fitting = abouts.filter(|about| fits(&about.recipe));
    fitting.next().map(|about| about.bytes)
}

fn read_any(dir: &Path) -> Result<Option<About>, LabError> {
    let path = dir.join(ABOUT);
    let file = match File::open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(LabError::at("read", &path)(error)),
    };
    // One that cannot be read is built anew.
    Ok(serde_json::from_reader(std::io::Read::take(file, ABOUT_BYTES)).ok())
}

/// Remembers that the template was used now.
pub(super) fn mark_used(dir: &Path) {
    let marked = File::options().write(true).open(dir.join(ABOUT));
    // Forgotten, it only goes earlier.
    let _ = marked.and_then(|file| file.set_modified(SystemTime::now()));
}

/// Moves what was built to its place, all at once. The caller holds its lock.
pub(super) fn put(home: &Home, dir: &Path, recipe: &Recipe, built: Built) -> Result<(), LabError> {
    let whole = home.new_path("template");
    fs::create_dir(&whole).map_err(LabError::at("make", &whole))?;
    let (from, to) = (built.data.data(), whole.join("data"));
    fs::rename(&from, &to).map_err(LabError::at("move", &from))?;
    let about = About {
        recipe: recipe.clone(),
        bytes: used_bytes(&to),
        build_s: built.took.as_secs_f64(),
        checksum: built.checksum,
    };
    write(&whole.join(ABOUT), &about)?;
    if dir.exists() {
        // Of another recipe, or damaged.
        set_aside(home, dir)?;
    }
    fs::rename(&whole, dir).map_err(LabError::at("move", &whole))?;
    let parent = home.templates();
    let synced = File::open(&parent).and_then(|folder| folder.sync_all());
    synced.map_err(LabError::at("write", &parent))
}

/// The server has written its files through; after a crash of the machine this one must
/// not be there without them.
fn write(path: &Path, about: &About) -> Result<(), LabError> {
    let mut text = serde_json::to_vec_pretty(about)
        .map_err(|error| LabError::at("write", path)(error.into()))?;
    text.push(b'\n');
    let mut options = File::options();
    options.write(true).create_new(true).mode(0o600);
    let written = options.open(path).and_then(|mut file| {
        file.write_all(&text)?;
        file.sync_all()
    });
    written.map_err(LabError::at("write", path))
}

/// Removes a directory so that nobody ever sees a part of it.
fn set_aside(home: &Home, dir: &Path) -> Result<(), LabError> {
    let aside = home.new_path("old");
    fs::rename(dir, &aside).map_err(LabError::at("move", dir))?;
    fs::remove_dir_all(&aside).map_err(LabError::at("remove", &aside))
}

/// Removes the least recently used templates until the others are within the limit. One
/// that somebody uses stays.
pub(super) fn tidy(home: &Home) -> Result<(), LabError> {
    let mut kept = entries(home)?;
    kept.sort_by_key(|entry| entry.used);
    let mut total: u64 = kept.iter().map(|entry| entry.bytes).sum();
    for entry in kept {
        if total <= home.cache_limit_bytes() {
            break;
        }
        if remove(home, &entry.dir)? {
            total = total.saturating_sub(entry.bytes);
        }
    }
    Ok(())
}

/// Removes every template that nobody uses, and locks of those that were never built;
/// says how many templates there were and what they took.
pub(crate) fn remove_unused(home: &Home) -> Result<(u32, u64), LabError> {
    let (mut count, mut bytes) = (0, 0);
    for entry in entries(home)? {
        if remove(home, &entry.dir)? {
            count += 1;
            bytes += entry.bytes;
        }
    }
    for path in paths(home)? {
        if path.extension().is_some_and(|end| end == "lock") {
            let template = path.with_extension("");
            if !template.exists() {
                remove(home, &template)?;
            }
        }
    }
    Ok((count, bytes))
}

fn paths(home: &Home) -> Result<Vec<PathBuf>, LabError> {
    let parent = home.templates();
    let entries = fs::read_dir(&parent).map_err(LabError::at("read", &parent))?;
    entries
        .map(|entry| Ok(entry.map_err(LabError::at("read", &parent))?.path()))
        .collect()
}

struct Entry {
    dir: PathBuf,
    bytes: u64,
    used: SystemTime,
}

fn entries(home: &Home) -> Result<Vec<Entry>, LabError> {
    let mut found = Vec::new();
    for dir in paths(home)? {
        if !dir.is_dir() {
            continue;
        }
        let bytes = match read_any(&dir)? {
            Some(about) => about.bytes,
            None => used_bytes(&dir),
        };
        let used = fs::metadata(dir.join(ABOUT)).and_then(|meta| meta.modified());
        found.push(Entry {
            dir,
            bytes,
            used: used.unwrap_or(SystemTime::UNIX_EPOCH),
        });
    }
    Ok(found)
}

/// Removes a template unless somebody uses it.
fn remove(home: &Home, dir: &Path) -> Result<bool, LabError> {
    let lock_path = lock_path(dir);
    let Some(_lock) = Lock::try_exclusive(&lock_path)? else {
        return Ok(false);
    };
    // Another dyno may have been faster.
    if dir.exists() {
        set_aside(home, dir)?;
    }
    // Who waits for it looks again whether it is still the lock.
    fs::remove_file(&lock_path).map_err(LabError::at("remove", &lock_path))?;
    Ok(true)
}
