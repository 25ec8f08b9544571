//! Where a node's data is stored. Each kind of volume is one file.

mod directory;

use std::fmt;
use std::path::{Path, PathBuf};

use crate::account::Account;
use crate::error::LabError;
use crate::home::Home;

/// Where a node's data is stored. Dropping it removes the data.
pub(crate) trait Volume: fmt::Debug + Send + Sync {
    /// The directory that has the data directory in it.
    fn path(&self) -> &Path;
}

/// Creates a volume for one node, which keeps in `own` what is not elsewhere.
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

/// A directory on the disk that volumes of this kind are on.
pub(crate) fn disk<'a>(home: &'a Home, volume: &'a plan::Volume) -> &'a Path {
    volume.directory().map_or(home.root(), |below| below)
}
