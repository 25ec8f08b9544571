//! btrfs on one or several devices.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use plan::{Compression, Profile};

use super::tool::{Tool, shown};
use super::{FileSystem, LABEL, claim};
use crate::failure::Failure;
use crate::process::NEVER;

/// The kernel's directory of btrfs file systems.
const FILE_SYSTEMS: &str = "/sys/fs/btrfs";
/// The kinds of content that btrfs allocates space for.
const KINDS: [&str; 3] = ["data", "metadata", "system"];

#[derive(Debug)]
pub(super) struct Btrfs {
    profile: Profile,
    checksum: bool,
    compression: Compression,
}

impl Btrfs {
    pub(super) fn new(plan: &plan::FileSystem) -> Self {
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
        let dir = directory_of(devices)?;
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

/// The kernel's directory of the file system on these devices.
pub(super) fn directory_of(devices: &[PathBuf]) -> Result<PathBuf, Failure> {
    let all = Path::new(FILE_SYSTEMS);
    let first = devices.first().map_or(Path::new(""), |device| device);
    // Compared by number, because a device has many names.
    let wanted = claim::number(first)?;
    for entry in fs::read_dir(all).map_err(Failure::at("read", all))? {
        let dir = entry.map_err(Failure::at("read", all))?.path();
        // Some directories do not belong to file systems.
        let devices = fs::read_dir(dir.join("devices")).into_iter().flatten();
        let number = |device: fs::DirEntry| fs::read_to_string(device.path().join("dev"));
        let mut numbers = devices.flatten().flat_map(number);
        if numbers.any(|number| number.trim() == wanted) {
            return Ok(dir);
        }
    }
    let missing = std::io::Error::other(format!("no file system on {}", first.display()));
    Err(Failure::at("search", all)(missing))
}
