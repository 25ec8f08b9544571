//! `[volume]` and `[log_volume]`: where the data of each server and its transaction log are stored.

use std::path::PathBuf;

use plan::key::KEYS;
use plan::{
    Compression, Devices, DiskLimits, FileSystem, FileSystemKind, FromValue, Profile, Span,
    Spanned, Topology, Volume, parse_bytes, shown, shown_bytes,
};

use crate::error::Diagnostic;
use crate::point::{LocatedDiagnostic, Point};

/// The sections of the volumes of a server.
pub(crate) const SECTIONS: [&str; 2] = [DATA, LOG];
const DATA: &str = "volume";
const LOG: &str = "log_volume";
/// The keys that say how a file system is made.
const OF_FILE_SYSTEM: [&str; 8] = [
    "devices",
    "device_size",
    "profile",
    "checksum",
    "compression",
    "deduplicate",
    "mount_options",
    "device",
];
/// The size of a loop device unless the study gives one.
const DEVICE_BYTES: u64 = 2 << 30;
/// The smallest XFS that its tools make.
const MIN_XFS_BYTES: u64 = 300 << 20;
/// Separates the paths of a list.
pub(crate) const BETWEEN_PATHS: &str = "\n";

/// Where the data is stored.
pub(crate) fn volume(at: &Point<'_>) -> Result<Volume, LocatedDiagnostic> {
    described(at, DATA)
}

/// Where the log is stored, unless it is stored with the data.
pub(crate) fn log_volume(at: &Point<'_>) -> Result<Option<Volume>, LocatedDiagnostic> {
    let volume = described(at, LOG)?;
    if volume.is_separate() {
        return Ok(Some(volume));
    }
    let mut keys = KEYS.iter().filter(|key| key.section() == LOG && key.axis);
    let given = keys.find_map(|key| Some((at.typed(key.name)?.span, key.name)));
    given.map_or(Ok(None), |(span, name)| {
        let message = format!("`{name}` has no effect on a log that is stored with the data");
        let help = "under [log_volume], make a file system with filesystem = \"ext4\", or name a directory on its disk with directory = \"/…\"";
        Err((span, Diagnostic::new(message, help)))
    })
}

/// Checks the volumes of all servers of a trial together.
pub(crate) fn check(topology: &Topology) -> Result<(), LocatedDiagnostic> {
    let node = &topology.node;
    if let (Some(cluster), Some(log)) = (&topology.cluster, &node.log_volume) {
        let message = "the log of a member of a cluster is stored with its data";
        let help = "remove [log_volume], or the cluster";
        let diagnostic = Diagnostic::new(message, help).also(cluster.kind.span);
        return Err((place_of(log), diagnostic));
    }
    let systems = node.volumes().filter_map(|one| one.file_system.as_ref());
    let mut named = systems.filter_map(|system| match &system.devices {
        Devices::Named(device) => Some(device),
        Devices::Loop { .. } => None,
    });
    let (first, second) = (named.next(), named.next());
    if let (Some(first), Some(second)) = (first, second)
        && first.value == second.value
    {
        let message = format!("`{}` is the device of both volumes", first.value.display());
        let help = "name two devices, or remove [log_volume]";
        return Err((second.span, Diagnostic::new(message, help).also(first.span)));
    }
    match (first, topology.nodes()) {
        (Some(device), nodes @ 2..) => {
            let path = device.value.display();
            let message = format!("`{path}` cannot have the file systems of {nodes} servers");
            let help = "use one server, or remove `device` to use loop devices; directory = \"/…\" puts their files on a mounted disk";
            Err((device.span, Diagnostic::new(message, help)))
        }
        _ => Ok(()),
    }
}

/// Where a study says that the log has a volume.
fn place_of(log: &Volume) -> Span {
    let directory = log.directory().map(|directory| directory.span);
    let made = log.file_system.as_ref().map(|made| made.kind.span);
    made.or(directory).unwrap_or(Span::NOWHERE)
}

fn described(at: &Point<'_>, section: &str) -> Result<Volume, LocatedDiagnostic> {
    let keys = Keys { at, section };
    let limits = DiskLimits {
        read_iops: keys.value("read_iops")?,
        write_iops: keys.value("write_iops")?,
        read_bytes_per_s: keys.bytes("read_bytes_per_s")?.map(|bytes| bytes.value),
        write_bytes_per_s: keys.bytes("write_bytes_per_s")?.map(|bytes| bytes.value),
    };
    Ok(Volume {
        directory: keys.maybe("directory")?,
        file_system: keys.file_system()?.map(Box::new),
        scheduler: keys.maybe("scheduler")?,
        limits,
    })
}

/// The keys of a section at a point of a study.
struct Keys<'a, 'p> {
    at: &'a Point<'p>,
    section: &'a str,
}

impl Keys<'_, '_> {
    fn name(&self, key: &str) -> String {
        format!("{}.{key}", self.section)
    }

    fn maybe<T: FromValue>(&self, key: &str) -> Result<Option<Spanned<T>>, LocatedDiagnostic> {
        self.at.maybe_spanned(&self.name(key))
    }

    fn value<T: FromValue>(&self, key: &str) -> Result<Option<T>, LocatedDiagnostic> {
        Ok(self.maybe(key)?.map(|typed| typed.value))
    }

    fn bytes(&self, key: &str) -> Result<Option<Spanned<u64>>, LocatedDiagnostic> {
        self.at.maybe_parsed(&self.name(key), parse_bytes)
    }

    fn file_system(&self) -> Result<Option<FileSystem>, LocatedDiagnostic> {
        let Some(word) = self.maybe::<String>("filesystem")? else {
            self.no_options()?;
            return Ok(None);
        };
        let mut kinds = FileSystemKind::ALL.iter();
        // The other word is `none`, with which a variant has no use for what the others share.
        let Some(kind) = kinds.find(|kind| kind.name() == word.value) else {
            return Ok(None);
        };
        let kind = Spanned {
            value: *kind,
            span: word.span,
        };
        let devices = self.devices()?;
        let count = match &devices {
            Devices::Loop { count, .. } => count.value,
            Devices::Named(_) => 1,
        };
        let default = Spanned {
            value: match (kind.value, count) {
                (FileSystemKind::Btrfs, 2..) => Profile::Raid0,
                _ => Profile::Single,
            },
            span: kind.span,
        };
        let file_system = FileSystem {
            devices,
            profile: self.maybe("profile")?.unwrap_or(default),
            checksum: self.maybe("checksum")?.unwrap_or(Spanned {
                value: true,
                span: kind.span,
            }),
            compression: self.compression()?,
            deduplicate: self.maybe("deduplicate")?.unwrap_or_default(),
            mount_options: self.maybe("mount_options")?,
            kind,
        };
        file_system
            .check()
            .map_err(|(span, message, help)| (span, Diagnostic::new(message, help)))?;
        check_size(&file_system)?;
        Ok(Some(file_system))
    }

    /// Without a file system, nothing says how to make one.
    fn no_options(&self) -> Result<(), LocatedDiagnostic> {
        let mut options = OF_FILE_SYSTEM.iter().map(|key| self.name(key));
        let given = options.find_map(|name| Some((self.at.typed(&name)?.span, name)));
        given.map_or(Ok(()), |(span, name)| {
            let message = format!(
                "`{name}` has no effect without `{}`",
                self.name("filesystem")
            );
            let help = "add the file system to make, such as filesystem = \"btrfs\"; to use one that is mounted, name its mount point with directory = \"/…\"";
            Err((span, Diagnostic::new(message, help)))
        })
    }

    fn devices(&self) -> Result<Devices, LocatedDiagnostic> {
        let Some(device) = self.maybe::<PathBuf>("device")? else {
            return Ok(Devices::Loop {
                count: self.maybe("devices")?.unwrap_or(Spanned {
                    value: 1,
                    span: Span::NOWHERE,
                }),
                bytes: self.bytes("device_size")?.unwrap_or(Spanned {
                    value: DEVICE_BYTES,
                    span: Span::NOWHERE,
                }),
            });
        };
        for key in ["devices", "device_size", "directory"] {
            if let Some(typed) = self.at.typed(&self.name(key)) {
                let message = format!("`{}` has no effect on a device", self.name(key));
                let help = "remove it, or remove `device` to use loop devices";
                return Err((typed.span, Diagnostic::new(message, help).also(device.span)));
            }
        }
        let allowed: Option<String> = self.value("allow_format")?;
        let mut allowed = allowed.iter().flat_map(|list| list.split(BETWEEN_PATHS));
        if !allowed.any(|allowed| device.value == *allowed) {
            let path = device.display();
            let message = format!("`{path}` may not be formatted");
            let help = format!(
                "all data on it would be lost; if you want that, add allow_format = [\"{path}\"] under [{}]",
                self.section
            );
            return Err((device.span, Diagnostic::new(message, help)));
        }
        Ok(Devices::Named(device))
    }

    fn compression(&self) -> Result<Spanned<Compression>, LocatedDiagnostic> {
        let Some(text) = self.maybe::<String>("compression")? else {
            return Ok(Spanned::default());
        };
        let span = text.span;
        let value = Compression::parse(&text).ok_or_else(|| {
            let message = format!("`{}` is no compression", shown(&text));
            let help =
                "the values are `none`, `lzo`, `zstd`, and `zstd:LEVEL` with a level from 1 to 15";
            (span, Diagnostic::new(message, help))
        })?;
        Ok(Spanned { value, span })
    }
}

/// A file system that its tools refuse to make.
fn check_size(file_system: &FileSystem) -> Result<(), LocatedDiagnostic> {
    let Devices::Loop { bytes, .. } = &file_system.devices else {
        return Ok(());
    };
    if file_system.kind.value != FileSystemKind::Xfs || bytes.value >= MIN_XFS_BYTES {
        return Ok(());
    }
    let least = shown_bytes(MIN_XFS_BYTES);
    let message = format!("an XFS of {} is too small", shown_bytes(bytes.value));
    let help = format!("use a `device_size` of at least {least}, or another file system");
    Err((bytes.span, Diagnostic::new(message, help)))
}
