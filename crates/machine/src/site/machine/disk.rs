//! The disk of a guest that holds its node's data: a file on this host, so that the data need not
//! pass through the connection.

use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use rustix::fs::{Advice, OFlags, fadvise, statvfs};

use crate::failure::Failure;
use crate::tool::Tool;

/// The largest file that ext4 can hold, with blocks of 4 KiB.
const MAX_BYTES: u64 = 16 << 40;

/// The device's name on the guest.
pub(super) const DEVICE: &str = "/dev/vdc";

/// Creates an empty disk as large as the free space.
pub(in crate::site) fn create(file: &Path) -> Result<(), Failure> {
    let failed = Failure::at("write", file);
    let created = File::create(file).map_err(failed)?;
    let space = statvfs(file).map_err(Failure::at("write", file))?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    // Only whole blocks.
    let bytes = free.min(MAX_BYTES) >> 20 << 20;
    created.set_len(bytes).map_err(failed)
}

/// Whether the file can be read without this host's page cache.
pub(in crate::site) fn is_direct(file: &Path) -> bool {
    let mut options = File::options();
    options.read(true);
    options.custom_flags(OFlags::DIRECT.bits().cast_signed());
    options.open(file).is_ok()
}

/// Makes a file system with a copy of a directory, and writes it to disk, before the guest reads
/// it.
pub(super) fn fill(file: &Path, dir: &Path, interrupted: &AtomicBool) -> Result<(), Failure> {
    let lazy = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
    let options = ["-q", "-F", "-m", "0", "-E", lazy, "-d"].map(OsStr::new);
    let paths = [dir.as_os_str(), file.as_os_str()];
    Tool::MKFS_EXT4.work(&[&options[..], &paths].concat(), interrupted)?;
    let failed = Failure::at("write", file);
    let file = File::open(file).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    // The guest reads it without this host's page cache, where it would only take memory.
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Ok(())
}
