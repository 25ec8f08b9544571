//! btrfs on one device or several.

use std::fs;
use std::path::{Path, PathBuf};

use plan::{Compression, Profile};

use super::tool::{Tool, shown};
use super::{FileSystem, LABEL};
use crate::error::LabError;

/// Where the kernel lists its file systems.
const FILE_SYSTEMS: &str = "/sys/fs/btrfs";
/// What it allocates space for.
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
    fn check(&self) -> Result<(), LabError> {
        Tool::MKFS_BTRFS.check().and_then(|()| Tool::BTRFS.check())
    }

    fn make(&self, devices: &[PathBuf]) -> Result<(), LabError> {
        let profile = self.profile.name();
        let options = ["-q", "-f", "-K", "-L", LABEL, "-d", profile, "-m", profile];
        Tool::MKFS_BTRFS.run_on(devices, &options)
    }

    fn mount_options(&self, devices: &[PathBuf]) -> Vec<String> {
        // Named here, the devices need not be searched for.
        let devices = devices.iter();
        let mut options: Vec<String> = devices
            .map(|device| format!("device={}", shown(device)))
            .collect();
        if !self.checksum {
            options.push("nodatasum".to_owned());
        }
        if self.compression != Compression::None {
            // Without force, the kernel gives up files whose beginning is not compressible.
            options.push(format!("compress-force={}", self.compression));
        }
        options
    }

    /// `statvfs` of btrfs tells only what is likely to be free.
    fn used_bytes(&self, _: &Path, devices: &[PathBuf]) -> Result<u64, LabError> {
        let dir = directory_of(devices)?;
        let mut bytes = 0;
        for kind in KINDS {
            let file = dir.join("allocation").join(kind).join("bytes_used");
            let text = fs::read_to_string(&file).map_err(LabError::at("read", &file))?;
            let number = text.trim().parse::<u64>();
            bytes += number
                .map_err(|error| LabError::at("read", &file)(std::io::Error::other(error)))?;
        }
        let count = u32::try_from(devices.len()).unwrap_or(u32::MAX);
        Ok((bytes as f64 * self.profile.raw_per_byte(count)) as u64)
    }

    fn forget(&self, devices: &[PathBuf]) {
        // Otherwise the kernel forgets them when their numbers are used again.
        let _ = Tool::BTRFS.run_on(devices, &["device", "scan", "--forget"]);
    }
}

/// The kernel's directory of the file system on these devices.
pub(super) fn directory_of(devices: &[PathBuf]) -> Result<PathBuf, LabError> {
    let all = Path::new(FILE_SYSTEMS);
    let name = devices.first().and_then(|device| device.file_name());
    let name = name.unwrap_or_default();
    for entry in fs::read_dir(all).map_err(LabError::at("read", all))? {
        let dir = entry.map_err(LabError::at("read", all))?.path();
        if dir.join("devices").join(name).exists() {
            return Ok(dir);
        }
    }
    let missing = std::io::Error::other(format!("no file system on {}", name.display()));
    Err(LabError::at("search", all)(missing))
}
