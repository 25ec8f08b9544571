//! Where a node's data is stored. Each kind of volume is one file.

mod directory;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::error::LabError;
use crate::home::Home;

/// Where a node's data is stored. Dropping it ends it.
pub(crate) trait Volume: fmt::Debug + Send + Sync {
    /// The directory that contains the data directory.
    fn path(&self) -> &Path;

    /// Removes the data and whatever was set up for it.
    ///
    /// # Errors
    /// What could not be removed.
    fn end(&self) -> Result<(), LabError>;
}

/// Creates a volume for one node; `own` is the node's directory in the cache.
///
/// # Errors
/// When nodes cannot store data there, or the operating system refuses.
pub(crate) fn create(
    home: &Home,
    volume: &plan::Volume,
    own: PathBuf,
) -> Result<Box<dyn Volume>, LabError> {
    Ok(match volume.directory() {
        None => Box::new(own),
        Some(below) => Box::new(directory::Directory::new(home, below)?),
    })
}

/// A node's own directory, whose owner removes it.
impl Volume for PathBuf {
    fn path(&self) -> &Path {
        self
    }

    fn end(&self) -> Result<(), LabError> {
        Ok(())
    }
}

/// Checks that nodes of this account can store data on volumes of this kind.
///
/// # Errors
/// Why they cannot.
pub(crate) fn check(volume: &plan::Volume, account: &Account) -> Result<(), LabError> {
    match volume.directory() {
        None => Ok(()),
        Some(below) => directory::check(below, account).map(drop),
    }
}

/// A directory on the disk that holds volumes of this kind.
pub(crate) fn disk<'a>(home: &'a Home, volume: &'a plan::Volume) -> &'a Path {
    volume.directory().map_or(home.root(), |below| below)
}
