//! Where the data of a node, or its log, is stored.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::Spanned;
use crate::choice::choice;
use crate::number::shown_bytes;

/// Where the data of a node, or its log, is stored.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Volume {
    /// The absolute path below which it is created; `None`: dyno's cache.
    #[serde(default)]
    pub directory: Option<Spanned<PathBuf>>,
    /// A file system that is made for it; `None`: it is a directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<Box<FileSystem>>,
    /// The IO scheduler of its devices; `None`: as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scheduler: Option<Spanned<String>>,
    #[serde(default, skip_serializing_if = "DiskLimits::is_none")]
    pub limits: DiskLimits,
}

/// A file system that is made for a volume, and removed with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct FileSystem {
    pub kind: Spanned<FileSystemKind>,
    pub devices: Devices,
    /// How btrfs distributes data and metadata over its devices.
    #[serde(default)]
    pub profile: Profile,
    #[serde(default = "yes")]
    pub checksum: bool,
    #[serde(default)]
    pub compression: Compression,
    /// Whether equal blocks are shared before the measurement.
    #[serde(default)]
    pub deduplicate: bool,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mount_options: Option<String>,
}

fn yes() -> bool {
    true
}

/// The block devices below a file system.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Devices {
    /// Loop devices on sparse files.
    Loop {
        /// How many, at least 1.
        count: u32,
        bytes: u64,
    },
    /// A device that the study names and allows to be formatted.
    Named(Spanned<PathBuf>),
}

/// Limits of each device of a volume; `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiskLimits {
    pub read_iops: Option<u64>,
    pub write_iops: Option<u64>,
    pub read_bytes_per_s: Option<u64>,
    pub write_bytes_per_s: Option<u64>,
}

choice! {
    /// A kind of file system that dyno makes.
    FileSystemKind {
        Ext4 = "ext4",
        Xfs = "xfs",
        Btrfs = "btrfs",
    }
}

choice! {
    /// How btrfs distributes data and metadata over its devices.
    #[derive(Default)]
    Profile {
        #[default]
        Single = "single",
        Raid0 = "raid0",
        Raid1 = "raid1",
        Raid10 = "raid10",
        Raid5 = "raid5",
    }
}

impl Profile {
    pub fn min_devices(self) -> u32 {
        match self {
            Self::Single | Self::Raid0 => 1,
            Self::Raid1 | Self::Raid5 => 2,
            Self::Raid10 => 4,
        }
    }

    /// Whether data survives the loss of a device.
    pub fn is_redundant(self) -> bool {
        matches!(self, Self::Raid1 | Self::Raid10 | Self::Raid5)
    }

    /// Bytes on `devices` devices for each byte of data.
    pub fn raw_per_byte(self, devices: u32) -> f64 {
        match self {
            Self::Single | Self::Raid0 => 1.0,
            Self::Raid1 | Self::Raid10 => 2.0,
            Self::Raid5 => f64::from(devices) / f64::from(devices.saturating_sub(1).max(1)),
        }
    }
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Compression {
    #[default]
    None,
    Lzo,
    /// Zstandard at this level, 1 to 15.
    Zstd(u8),
}

impl Compression {
    const DEFAULT_LEVEL: u8 = 3;

    /// Reads `none`, `lzo`, `zstd`, or `zstd:LEVEL`.
    pub fn parse(text: &str) -> Option<Self> {
        match text.split_once(':') {
            None if text == "none" => Some(Self::None),
            None if text == "lzo" => Some(Self::Lzo),
            None if text == "zstd" => Some(Self::Zstd(Self::DEFAULT_LEVEL)),
            Some(("zstd", level)) => {
                let level = level.parse().ok().filter(|level| (1..=15).contains(level));
                level.map(Self::Zstd)
            }
            _ => None,
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Lzo => f.write_str("lzo"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

impl From<Compression> for String {
    fn from(compression: Compression) -> Self {
        compression.to_string()
    }
}

impl TryFrom<String> for Compression {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| format!("`{text}` is no compression"))
    }
}

impl DiskLimits {
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// These limits, and `others` where these have none.
    pub fn or(&self, others: &Self) -> Self {
        Self {
            read_iops: self.read_iops.or(others.read_iops),
            write_iops: self.write_iops.or(others.write_iops),
            read_bytes_per_s: self.read_bytes_per_s.or(others.read_bytes_per_s),
            write_bytes_per_s: self.write_bytes_per_s.or(others.write_bytes_per_s),
        }
    }
}

/// `at most 500 reads/s, 100.0 MiB/s written`; empty without limits.
impl fmt::Display for DiskLimits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [
            self.read_iops.map(|n| format!("{n} reads/s")),
            self.write_iops.map(|n| format!("{n} writes/s")),
            self.read_bytes_per_s
                .map(|n| format!("{}/s read", shown_bytes(n))),
            self.write_bytes_per_s
                .map(|n| format!("{}/s written", shown_bytes(n))),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        match parts.is_empty() {
            true => Ok(()),
            false => write!(f, "at most {}", parts.join(", ")),
        }
    }
}

impl Volume {
    /// Whether its data is in dyno's cache, the default.
    pub fn is_default(&self) -> bool {
        *self == Self::default()
    }

    /// Whether filling it fills nothing else that the study does not name.
    pub fn is_separate(&self) -> bool {
        self.directory.is_some() || self.file_system.is_some()
    }
}

impl FileSystem {
    pub fn device_count(&self) -> u32 {
        match &self.devices {
            Devices::Loop { count, .. } => *count,
            Devices::Named(_) => 1,
        }
    }

    /// Maximum size of the files behind its loop devices, in bytes; `None` for a named device.
    pub fn loop_bytes(&self) -> Option<u64> {
        match &self.devices {
            Devices::Loop { count, bytes } => Some(bytes.saturating_mul(u64::from(*count))),
            Devices::Named(_) => None,
        }
    }

    pub fn named_device(&self) -> Option<&Path> {
        match &self.devices {
            Devices::Loop { .. } => None,
            Devices::Named(device) => Some(&device.value),
        }
    }
}

/// `btrfs, raid10 of 4 loop devices of 2.0 GiB, compression zstd:3`.
impl fmt::Display for FileSystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = self.kind.value;
        let profile = match kind {
            FileSystemKind::Btrfs => format!("{} of ", self.profile),
            FileSystemKind::Ext4 | FileSystemKind::Xfs => String::new(),
        };
        let devices = match &self.devices {
            Devices::Loop { count, bytes } => {
                let plural = if *count == 1 { "" } else { "s" };
                format!("{count} loop device{plural} of {}", shown_bytes(*bytes))
            }
            Devices::Named(device) => device.display().to_string(),
        };
        write!(f, "{kind}, {profile}{devices}")?;
        let compression = Some(self.compression).filter(|one| *one != Compression::None);
        let options = [
            (!self.checksum).then(|| "no checksums".to_owned()),
            compression.map(|compression| format!("compression {compression}")),
            self.deduplicate.then(|| "deduplicated".to_owned()),
            self.mount_options
                .as_ref()
                .map(|options| format!("mounted with {options}")),
        ];
        let mut options = options.into_iter().flatten();
        options.try_for_each(|option| write!(f, ", {option}"))
    }
}

/// `btrfs, raid10 of 4 loop devices of 2.0 GiB, scheduler none, at most 500 reads/s`.
impl fmt::Display for Volume {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.file_system {
            Some(file_system) => write!(f, "{file_system}")?,
            None => f.write_str("directory")?,
        }
        if let Some(directory) = &self.directory {
            write!(f, " in {}", directory.value.display())?;
        }
        if let Some(scheduler) = &self.scheduler {
            write!(f, ", scheduler {}", scheduler.value)?;
        }
        match self.limits.is_none() {
            true => Ok(()),
            false => write!(f, ", {} on each device", self.limits),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn of(kind: FileSystemKind, devices: u32, profile: Profile) -> FileSystem {
        FileSystem {
            kind: kind.into(),
            devices: Devices::Loop {
                count: devices,
                bytes: 1 << 30,
            },
            profile,
            checksum: true,
            compression: Compression::None,
            deduplicate: false,
            mount_options: None,
        }
    }

    #[test]
    fn compressions_are_read_and_shown() {
        assert_eq!(Compression::parse("zstd"), Some(Compression::Zstd(3)));
        assert_eq!(Compression::parse("zstd:15"), Some(Compression::Zstd(15)));
        for wrong in ["", "zstd:", "zstd:0", "zstd:16", "lzo:1", "gzip", "zstd:x"] {
            assert_eq!(Compression::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Compression::Zstd(7).to_string(), "zstd:7");
    }

    #[test]
    fn a_volume_is_stored_as_it_is_and_old_results_can_be_read() {
        let old: Volume = serde_json::from_str(r#"{"directory":null}"#).unwrap();
        assert!(old.is_default());
        let mut file_system = of(FileSystemKind::Btrfs, 4, Profile::Raid10);
        file_system.compression = Compression::Zstd(3);
        let volume = Volume {
            file_system: Some(Box::new(file_system)),
            ..Volume::default()
        };
        let text = serde_json::to_string(&volume).unwrap();
        assert_eq!(serde_json::from_str::<Volume>(&text).unwrap(), volume);
        assert_eq!(
            volume.to_string(),
            "btrfs, raid10 of 4 loop devices of 1.0 GiB, compression zstd:3"
        );
    }

    #[test]
    fn redundancy_takes_space() {
        assert!((Profile::Raid5.raw_per_byte(4) - 4.0 / 3.0).abs() < 1e-12);
        assert!((Profile::Raid10.raw_per_byte(4) - 2.0).abs() < 1e-12);
    }
}
