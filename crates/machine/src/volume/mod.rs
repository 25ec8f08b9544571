//! Where a node's data is stored. Each kind of volume is one file.

mod btrfs;
mod claim;
mod devices;
mod directory;
mod ext4;
pub mod fillable;
mod loop_device;
mod made;
mod named_device;
mod scheduler;
mod tool;
mod xfs;

use std::fmt;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::account::Account;
use crate::failure::{Failure, of_log};
use crate::home::Home;

pub use devices::Job;
pub(crate) use devices::release;
pub use made::Made;
pub(crate) use named_device::wipe_own;
pub use scheduler::{Scheduler, put_back_all};
pub(crate) use tool::Tool;

/// Label of each file system that dyno makes.
pub const LABEL: &str = "dyno-volume";

/// Where a node's data is stored. Dropping a volume removes it.
pub trait Volume: fmt::Debug + Send + Sync {
    /// The directory that contains the data directory.
    fn path(&self) -> &Path;

    /// Bytes on the devices for everything written since the volume was made, with all copies and
    /// parity. `None` for a directory, whose file system also holds other files.
    fn used_bytes(&self) -> Result<Option<u64>, Failure> {
        Ok(None)
    }

    /// Bytes on the devices per byte of data, without compression and deduplication.
    fn raw_per_byte(&self) -> f64 {
        1.0
    }

    /// The file system that dyno made for the volume; `None` for a directory.
    fn made(&self) -> Option<&Made> {
        None
    }

    /// Shares equal blocks of the data if the study asks for it.
    fn deduplicate(&self, interrupted: &AtomicBool) -> Result<(), Failure> {
        let _ = interrupted;
        Ok(())
    }

    /// Removes the data and whatever was set up for it.
    fn end(&self) -> Result<(), Failure>;
}

trait FileSystem: fmt::Debug + Send + Sync {
    /// Checks that the required programs are installed.
    fn check(&self) -> Result<(), Failure>;

    /// Makes the file system on empty devices, with [`LABEL`].
    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure>;

    /// Mount options required for these devices.
    fn mount_options(&self, devices: &[PathBuf]) -> Vec<String>;

    /// Bytes on the devices. The caller has synchronized the file system.
    fn used_bytes(&self, mount_point: &Path, devices: &[PathBuf]) -> Result<u64, Failure>;

    /// Makes the kernel forget unmounted devices.
    fn forget(&self, devices: &[PathBuf]) {
        let _ = devices;
    }
}

fn file_system(plan: &plan::FileSystem) -> Box<dyn FileSystem> {
    match plan.kind.value {
        plan::FileSystemKind::Ext4 => Box::new(ext4::Ext4),
        plan::FileSystemKind::Xfs => Box::new(xfs::Xfs),
        plan::FileSystemKind::Btrfs => Box::new(btrfs::Btrfs::new(plan)),
    }
}

/// Creates a volume for one node; `own` is the node's directory in the cache.
pub fn create(
    home: &Home,
    volume: &plan::Volume,
    own: PathBuf,
    interrupted: &AtomicBool,
) -> Result<Arc<dyn Volume>, Failure> {
    Ok(match (&volume.file_system, volume.directory()) {
        (Some(plan), below) => Arc::new(Made::new(
            home,
            plan,
            &volume.limits,
            below.map(|d| &*d.value),
            interrupted,
        )?),
        (None, Some(below)) => Arc::new(directory::Directory::new(home, below)?),
        (None, None) => Arc::new(own),
    })
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
    if let Some(below) = volume.directory() {
        directory::check(below, account)?;
    }
    match &volume.file_system {
        Some(plan) => made::check(plan),
        None => Ok(()),
    }
}

/// The failure of a host that cannot, or a user that may not, make a volume as the study describes
/// it.
pub fn no_volume(why: impl Display, remedy: impl Into<String>) -> Failure {
    Failure::usage(format!("cannot set up the volume: {why}"))
        .remedy(remedy)
        .key("volume.filesystem")
}

/// A directory on the disk that holds such volumes.
pub fn disk<'a>(home: &'a Home, volume: &'a plan::Volume) -> &'a Path {
    volume.directory().map_or(home.root(), |below| below)
}

#[cfg(test)]
mod tests;
