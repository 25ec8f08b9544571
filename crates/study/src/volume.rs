//! `[volume]` and `[log_volume]`: where the data of each server and its transaction log are stored.

use std::path::PathBuf;

use plan::key::KEYS;
use plan::{
    Compression, Devices, DiskLimits, FileSystem, FileSystemKind, FromValue, Profile, Span,
    Spanned, Topology, Volume, shown, shown_bytes,
};

use crate::error::Report;
use crate::point::Point;
use crate::read::BETWEEN_PATHS;

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

pub(crate) fn volume(at: &Point<'_>) -> Volume {
    described(at, DATA)
}

/// Where the log is stored, unless it is stored with the data.
pub(crate) fn log_volume(at: &Point<'_>) -> Option<Volume> {
    let volume = described(at, LOG);
    if volume.is_separate() {
        return Some(volume);
    }
    let mut keys = KEYS.iter().filter(|key| key.section() == LOG && key.axis);
    if let Some((value, key)) = keys.find_map(|key| Some((at.given(key.name)?, key))) {
        let message = format!(
            "`{}` has no effect on a log that is stored with the data",
            key.name
        );
        let help = "under [log_volume], make a file system with filesystem = \"ext4\", or name a directory on its disk with directory = \"/…\"";
        at.refuse(value.span, message, help);
    }
    None
}

/// Checks the volumes of all servers of a trial together.
pub(crate) fn check(topology: &Topology, at: &Point<'_>) {
    let node = &topology.node;
    if let (Some(cluster), Some(log)) = (&topology.cluster, &node.log_volume) {
        let message = "the log of a member of a cluster is stored with its data";
        let help = "remove [log_volume], or the cluster";
        at.refuse_also(place_of(log), cluster.kind.span, message, help);
    }
    let systems = node.volumes().filter_map(|one| one.file_system.as_ref());
    let mut named = systems.filter_map(|system| match &system.devices {
        Devices::Named(device) => Some(device),
        Devices::Loop { .. } => None,
    });
    let Some(first) = named.next() else { return };
    let path = first.value.display();
    if let Some(second) = named.next().filter(|second| second.value == first.value) {
        let message = format!("`{path}` is the device of both volumes");
        let help = "name two devices, or remove [log_volume]";
        at.refuse_also(second.span, first.span, message, help);
    }
    if let Some(nodes @ 2..) = topology.instances_by_host().iter().map(Vec::len).max() {
        let message = format!("`{path}` cannot have the file systems of {nodes} servers");
        let help = "use one server, or remove `device` to use loop devices; directory = \"/…\" puts their files on a mounted disk";
        at.refuse(first.span, message, help);
    }
}

/// Where a study says that the log has a volume.
fn place_of(log: &Volume) -> Span {
    let directory = log.directory.as_ref().map(|directory| directory.span);
    let made = log.file_system.as_ref().map(|made| made.kind.span);
    made.or(directory).unwrap_or(Span::NOWHERE)
}

fn described(at: &Point<'_>, section: &str) -> Volume {
    let keys = Keys { at, section };
    // A permission needs no effect.
    at.mark(&keys.name("allow_format"));
    Volume {
        directory: keys.spanned("directory"),
        file_system: keys.file_system().map(Box::new),
        scheduler: keys.spanned("scheduler"),
        limits: DiskLimits {
            read_iops: keys.maybe("read_iops"),
            write_iops: keys.maybe("write_iops"),
            read_bytes_per_s: keys.maybe("read_bytes_per_s"),
            write_bytes_per_s: keys.maybe("write_bytes_per_s"),
        },
    }
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

    fn maybe<T: FromValue>(&self, key: &str) -> Option<T> {
        self.at.maybe(&self.name(key))
    }

    fn spanned<T: FromValue>(&self, key: &str) -> Option<Spanned<T>> {
        self.at.maybe_spanned(&self.name(key))
    }

    /// The first of these keys that is given.
    fn first(&self, keys: &[&str]) -> Option<(String, Span)> {
        let mut names = keys.iter().map(|key| self.name(key));
        names.find_map(|name| self.at.given(&name).map(|value| (name, value.span)))
    }

    fn file_system(&self) -> Option<FileSystem> {
        let Some(word) = self.spanned::<String>("filesystem") else {
            if let Some((name, span)) = self.first(&OF_FILE_SYSTEM) {
                let message = format!(
                    "`{name}` has no effect without `{}`",
                    self.name("filesystem")
                );
                let help = "add the file system to make, such as filesystem = \"btrfs\"; to use one that is mounted, name its mount point with directory = \"/…\"";
                self.at.refuse(span, message, help);
            }
            return None;
        };
        // What the others share has no use with the other word, `none`, but is allowed.
        OF_FILE_SYSTEM
            .iter()
            .for_each(|key| self.at.mark(&self.name(key)));
        let mut kinds = FileSystemKind::ALL.iter();
        let kind = *kinds.find(|kind| kind.name() == word.value)?;
        let devices = self.devices();
        let profile = match (kind, &devices) {
            (FileSystemKind::Btrfs, Devices::Loop { count: 2.., .. }) => Profile::Raid0,
            _ => Profile::Single,
        };
        let file_system = FileSystem {
            devices,
            profile: self.maybe("profile").unwrap_or(profile),
            checksum: self.maybe("checksum").unwrap_or(true),
            compression: self.compression(),
            deduplicate: self.maybe("deduplicate").unwrap_or_default(),
            mount_options: self.maybe("mount_options"),
            kind: Spanned::new(kind, word.span),
        };
        self.check(&file_system);
        Some(file_system)
    }

    fn devices(&self) -> Devices {
        let Some(device) = self.spanned::<PathBuf>("device") else {
            return Devices::Loop {
                count: self.maybe("devices").unwrap_or(1),
                bytes: self.maybe("device_size").unwrap_or(DEVICE_BYTES),
            };
        };
        if let Some((name, span)) = self.first(&["devices", "device_size", "directory"]) {
            let message = format!("`{name}` has no effect on a device");
            let help = "remove it, or remove `device` to use loop devices";
            self.at.refuse_also(span, device.span, message, help);
        }
        let allowed = self.maybe::<String>("allow_format");
        let mut allowed = allowed.iter().flat_map(|list| list.split(BETWEEN_PATHS));
        if !allowed.any(|allowed| device.value == *allowed) {
            let path = device.display();
            let message = format!("`{path}` may not be formatted");
            let help = format!(
                "all data on it would be lost; if you want that, add allow_format = [\"{path}\"] under [{}]",
                self.section
            );
            self.at.refuse(device.span, message, help);
        }
        Devices::Named(device)
    }

    fn compression(&self) -> Compression {
        let Some(text) = self.spanned::<String>("compression") else {
            return Compression::None;
        };
        let value = Compression::parse(&text);
        if value.is_none() {
            let message = format!("`{}` is no compression", shown(&text));
            let help =
                "the values are `none`, `lzo`, `zstd`, and `zstd:LEVEL` with a level from 1 to 15";
            self.at.refuse(text.span, message, help);
        }
        value.unwrap_or_default()
    }

    /// Refuses a file system that cannot be made.
    fn check(&self, made: &FileSystem) {
        let refuse = |key: &str, message: String, help: &str| {
            // A value that is not given follows from the kind.
            let given = self.at.given(&self.name(key));
            let span = given.map_or(made.kind.span, |typed| typed.span);
            self.at.refuse(span, message, help);
        };
        let kind = made.kind.value;
        let (devices, least) = (made.device_count(), made.profile.min_devices());
        let is_compressed = made.compression != Compression::None;
        let is_ext4 = kind == FileSystemKind::Ext4;
        // Only btrfs has these features; XFS has `deduplicate` as well.
        let of_btrfs = [
            ("devices", devices != 1),
            ("profile", made.profile != Profile::Single),
            ("checksum", !made.checksum),
            ("compression", is_compressed),
            ("deduplicate", made.deduplicate && is_ext4),
        ];
        if kind != FileSystemKind::Btrfs {
            if let Some((key, _)) = of_btrfs.iter().find(|(_, is_set)| *is_set) {
                let help = "remove it, or use filesystem = \"btrfs\"";
                refuse(key, format!("{kind} has no `{key}`"), help);
            }
        } else if devices < least {
            let message = format!("`{}` needs {least} devices, not {devices}", made.profile);
            let help = "use more `devices`, or another `profile`";
            refuse("profile", message, help);
        } else if is_compressed && !made.checksum {
            let message = "btrfs compresses only data that has checksums".to_owned();
            let help = "remove checksum = false, or use compression = \"none\"";
            refuse("compression", message, help);
        }
        if let (FileSystemKind::Xfs, Devices::Loop { bytes, .. }) = (kind, &made.devices)
            && *bytes < MIN_XFS_BYTES
        {
            let least = shown_bytes(MIN_XFS_BYTES);
            let message = format!("an XFS of {} is too small", shown_bytes(*bytes));
            let help = format!("use a `device_size` of at least {least}, or another file system");
            refuse("device_size", message, &help);
        }
    }
}
