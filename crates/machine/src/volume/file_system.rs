//! The kinds of file systems that dyno makes.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plan::{Compression, Profile};

use crate::device::{self, LABEL};
use crate::failure::Failure;
use crate::process::NEVER;
use crate::tool::{Tool, shown};

/// The kinds of content that btrfs allocates space for.
const KINDS: [&str; 3] = ["data", "metadata", "system"];

pub(super) trait FileSystem: fmt::Debug + Send + Sync {
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

pub(super) fn file_system(plan: &plan::FileSystem) -> Box<dyn FileSystem> {
    match plan.kind.value {
        plan::FileSystemKind::Ext4 => Box::new(Ext4),
        plan::FileSystemKind::Xfs => Box::new(Xfs),
        plan::FileSystemKind::Btrfs => Box::new(Btrfs::new(plan)),
    }
}

#[derive(Debug)]
struct Ext4;

impl FileSystem for Ext4 {
    fn check(&self) -> Result<(), Failure> {
        Tool::MKFS_EXT4.check()
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure> {
        let lazy = "nodiscard,lazy_itable_init=1,lazy_journal_init=1";
        Tool::MKFS_EXT4.run_on(devices, &["-q", "-F", "-L", LABEL, "-E", lazy], interrupted)
    }

    /// The kernel must not write inode tables during the measurement.
    fn mount_options(&self, _: &[PathBuf]) -> Vec<String> {
        vec!["noinit_itable".to_owned()]
    }

    fn used_bytes(&self, mount_point: &Path, _: &[PathBuf]) -> Result<u64, Failure> {
        allocated_bytes(mount_point)
    }
}

#[derive(Debug)]
struct Xfs;

impl FileSystem for Xfs {
    fn check(&self) -> Result<(), Failure> {
        Tool::MKFS_XFS.check()
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure> {
        Tool::MKFS_XFS.run_on(devices, &["-q", "-f", "-K", "-L", LABEL], interrupted)
    }

    fn mount_options(&self, _: &[PathBuf]) -> Vec<String> {
        Vec::new()
    }

    fn used_bytes(&self, mount_point: &Path, _: &[PathBuf]) -> Result<u64, Failure> {
        allocated_bytes(mount_point)
    }
}

fn allocated_bytes(mount_point: &Path) -> Result<u64, Failure> {
    let space = rustix::fs::statvfs(mount_point);
    let space = space.map_err(Failure::at("read the file system of", mount_point))?;
    Ok(space.f_blocks.saturating_sub(space.f_bfree) * space.f_frsize)
}

/// On one or several devices.
#[derive(Debug)]
struct Btrfs {
    profile: Profile,
    checksum: bool,
    compression: Compression,
}

impl Btrfs {
    fn new(plan: &plan::FileSystem) -> Self {
        Self {
            profile: plan.profile.value,
            checksum: plan.checksum.value,
            compression: plan.compression.value,
        }
    }
}

impl FileSystem for Btrfs {
    fn check(&self) -> Result<(), Failure> {
        Tool::MKFS_BTRFS.check().and_then(|()| Tool::BTRFS.check())
    }

    fn make(&self, devices: &[PathBuf], interrupted: &AtomicBool) -> Result<(), Failure> {
        let profile = self.profile.name();
        let options = ["-q", "-f", "-K", "-L", LABEL, "-d", profile, "-m", profile];
        Tool::MKFS_BTRFS.run_on(devices, &options, interrupted)
    }

    fn mount_options(&self, devices: &[PathBuf]) -> Vec<String> {
        // With devices as mount options, the kernel need not scan for them.
        let devices = devices.iter();
        let mut options: Vec<String> = devices
            .map(|device| format!("device={}", shown(device)))
            .collect();
        if !self.checksum {
            options.push("nodatasum".to_owned());
        }
        if self.compression != Compression::None {
            // Without force, the kernel does not compress files whose beginning is incompressible.
            options.push(format!("compress-force={}", self.compression));
        }
        options
    }

    /// btrfs's `statvfs` only estimates the free space.
    fn used_bytes(&self, _: &Path, devices: &[PathBuf]) -> Result<u64, Failure> {
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
        Ok((bytes as f64 * self.profile.raw_per_byte(count)) as u64)
    }

    fn forget(&self, devices: &[PathBuf]) {
        // Otherwise the kernel forgets them only when their numbers are reused.
        let _ = Tool::BTRFS.run_on(devices, &["device", "scan", "--forget"], &NEVER);
    }
}
