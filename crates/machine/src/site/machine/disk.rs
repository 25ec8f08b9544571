//! Disks of a guest: files on this host, so that dyno's program and the data need not pass through the
//! connection.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

use rustix::fs::{Advice, OFlags, fadvise, statvfs};

use super::PROGRAM;
use crate::failure::Failure;
use crate::process::{self, WORK_LIMIT};
use crate::tool::Tool;

/// The largest file that ext4 can hold, with blocks of 4 KiB.
const MAX_BYTES: u64 = 16 << 40;

/// On the guest, the disk with dyno's program, where that has its cache.
pub(super) const DEVICE: &str = "/dev/vdc";
/// Where the guest mounts that disk.
pub const MOUNT_POINT: &str = "/var/tmp";
/// On the guest, the disk with an archive that was copied to it.
pub(super) const RECEIVED: &str = "/dev/vdd";

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

/// Makes a file system with a copy of dyno's program, through the new directory `through`.
pub(in crate::site) fn fill(
    file: &Path,
    program: &Path,
    through: &Path,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    fs::create_dir(through).map_err(Failure::at("create", through))?;
    fs::copy(program, through.join(PROGRAM)).map_err(Failure::at("copy", program))?;
    let lazy = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
    let options = ["-q", "-F", "-m", "0", "-E", lazy, "-d"].map(OsStr::new);
    let paths = [through.as_os_str(), file.as_os_str()];
    Tool::MKFS_EXT4.work(&[&options[..], &paths].concat(), interrupted)?;
    fs::remove_dir_all(through).map_err(Failure::at("remove", through))?;
    settle(file)
}

/// Writes the output of a command to the disk, before the guest reads it; returns whether it succeeded.
pub(super) fn write(
    disk: &Path,
    mut command: Command,
    interrupted: &AtomicBool,
) -> Result<bool, Failure> {
    let file = File::options().write(true).open(disk);
    command.stdout(file.map_err(Failure::at("write", disk))?);
    let mut child = process::spawn(command)?;
    let status = process::finish(&mut child, WORK_LIMIT, interrupted)?;
    settle(disk)?;
    Ok(status.is_some_and(|status| status.success()))
}

/// The guest reads the disk without this host's page cache, where it would only take memory.
fn settle(disk: &Path) -> Result<(), Failure> {
    let failed = Failure::at("write", disk);
    let file = File::open(disk).map_err(failed)?;
    file.sync_data().map_err(failed)?;
    let _ = fadvise(&file, 0, None, Advice::DontNeed);
    Ok(())
}
