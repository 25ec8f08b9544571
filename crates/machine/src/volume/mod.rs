//! Where a node's data is stored. Each kind of volume is one file.

mod devices;
mod directory;
mod file_system;
pub mod fillable;
mod loop_device;
mod made;

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::account::Account;
use crate::failure::{Failure, of_log};
use crate::home::Home;
use crate::home::outside::Outside;

pub use crate::tool::no_volume;
pub use devices::Job;
pub use made::Made;

/// Where a node's data is stored. Dropping a volume removes it.
pub trait Volume: fmt::Debug + Send + Sync {
    /// The directory that contains the data directory.
    fn path(&self) -> &Path;

    /// The file system that dyno made for the volume; `None` for a directory, whose file system also
    /// holds other files.
    fn made(&self) -> Option<&Made> {
        None
    }

    /// Removes the data and whatever was set up for it.
    fn end(&self) -> Result<(), Failure>;
}

/// Creates a volume for one node; `own` is the node's directory in the cache.
pub fn create(
    home: &Home,
    volume: &plan::Volume,
    own: PathBuf,
    interrupted: &AtomicBool,
) -> Result<Arc<dyn Volume>, Failure> {
    Ok(match (&volume.file_system, volume.directory.as_ref()) {
        (Some(plan), below) => Arc::new(Made::new(
            home,
            plan,
            &volume.limits,
            below.map(|d| &*d.value),
            interrupted,
        )?),
        (None, Some(below)) => Arc::new(directory::make(home, below)?),
        (None, None) => Arc::new(own),
    })
}

/// The volume at `path` that a former process of this run has created. Dropping it removes it, too.
pub fn of_former(home: &Home, path: &Path, own: &Path) -> Result<Arc<dyn Volume>, Failure> {
    if path == own {
        return Ok(Arc::new(own.to_owned()));
    }
    match Outside::of_former(home, path)? {
        Some(made) => Ok(Arc::new(made)),
        None => Err(no_volume(
            format!("{} is not in the journal of the run", path.display()),
            "run the study again",
        )),
    }
}

/// A node's own directory, which is removed by its owner.
impl Volume for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn end(&self) -> Result<(), Failure> {
        Ok(())
    }
}

/// Checks that nodes of this account can store data and log on the volumes of a plan.
pub fn check(node: &plan::Node, account: &Account) -> Result<(), Failure> {
    check_one(&node.volume, account)?;
    let log = node.log_volume.as_ref();
    log.map_or(Ok(()), |log| check_one(log, account).map_err(of_log))
}

fn check_one(volume: &plan::Volume, account: &Account) -> Result<(), Failure> {
    if let Some(below) = &volume.directory {
        directory::check(below, account)?;
    }
    match &volume.file_system {
        Some(plan) => made::check(plan),
        None => Ok(()),
    }
}

/// A directory on the disk that holds such volumes.
pub fn disk<'a>(home: &'a Home, volume: &'a plan::Volume) -> &'a Path {
    let below = volume.directory.as_ref();
    below.map_or(home.root(), |below| below)
}

#[cfg(test)]
mod tests;
