//! The kinds of file systems that dyno makes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plan::{Compression, FileSystem, FileSystemKind};

use crate::device::{self, LABEL};
use crate::failure::Failure;
use crate::process::NEVER;
use crate::tool::{Tool, shown};

/// The kinds of content that btrfs allocates space for.
const KINDS: [&str; 3] = ["data", "metadata", "system"];

/// Checks that the required programs are installed.
pub(super) fn check(plan: &FileSystem) -> Result<(), Failure> {
    match plan.kind.value {
        FileSystemKind::Ext4 => Tool::MKFS_EXT4.check(),
        FileSystemKind::Xfs => Tool::MKFS_XFS.check(),
        FileSystemKind::Btrfs => Tool::MKFS_BTRFS.check().and_then(|()| Tool::BTRFS.check()),
    }
}

/// Makes the file system on empty devices, with [`LABEL`].
pub(super) fn make(
    plan: &FileSystem,
    devices: &[PathBuf],
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    match plan.kind.value {
        FileSystemKind::Ext4 => {
            let lazy = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
            Tool::MKFS_EXT4.run_on(devices, &["-q", "-F", "-L", LABEL, "-E", lazy], interrupted)
        }
        FileSystemKind::Xfs => {
            Tool::MKFS_XFS.run_on(devices, &["-q", "-f", "-K", "-L", LABEL], interrupted)
        }
        FileSystemKind::Btrfs => {
            let profile = plan.profile.name();
            let options = ["-q", "-f", "-K", "-L", LABEL, "-d", profile, "-m", profile];
            Tool::MKFS_BTRFS.run_on(devices, &options, interrupted)
        }
    }
}

/// Mount options required for these devices.
pub(super) fn mount_options(plan: &FileSystem, devices: &[PathBuf]) -> Vec<String> {
    match plan.kind.value {
        // The kernel must not write inode tables during the measurement.
        FileSystemKind::Ext4 => vec!["noinit_itable".to_owned()],
        FileSystemKind::Xfs => Vec::new(),
        FileSystemKind::Btrfs => {
            // With devices as mount options, the kernel need not scan for them.
            let devices = devices.iter();
            let devices = devices.map(|device| format!("device={}", shown(device)));
            let mut options: Vec<String> = devices.collect();
            if !plan.checksum {
                options.push("nodatasum".to_owned());
            }
            if plan.compression != Compression::None {
                // Without force, the kernel does not compress files whose beginning is
                // incompressible.
                options.push(format!("compress-force={}", plan.compression));
            }
            options
        }
    }
}

/// Bytes on the devices. The caller has synchronized the file system.
pub(super) fn used_bytes(
    plan: &FileSystem,
    mount_point: &Path,
    devices: &[PathBuf],
) -> Result<u64, Failure> {
    if plan.kind.value != FileSystemKind::Btrfs {
        let space = rustix::fs::statvfs(mount_point);
        let space = space.map_err(Failure::at("read the file system of", mount_point))?;
        return Ok(space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize);
    }
    // btrfs's `statvfs` only estimates the free space.
    let dir = device::btrfs_directory(devices)?;
    let mut bytes = 0;
    for kind in KINDS {
        let file = dir.join("allocation").join(kind).join("bytes_used");
        let text = fs::read_to_string(&file).map_err(Failure::at("read", &file))?;
        let number = text.trim().parse::<u64>();
        bytes +=
            number.map_err(|error| Failure::at("read", &file)(std::io::Error::other(error)))?;
    }
    let count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
    Ok((bytes as f64 * plan.profile.raw_per_byte(count)) as u64)
}

/// Makes the kernel forget unmounted devices.
pub(super) fn forget(plan: &FileSystem, devices: &[PathBuf]) {
    if plan.kind.value == FileSystemKind::Btrfs {
        // Otherwise the kernel forgets them only when their numbers are reused.
        let _ = Tool::BTRFS.run_on(devices, &["device", "scan", "--forget"], &NEVER);
    }
}
