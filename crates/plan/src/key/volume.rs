//! The keys of a volume: the same for the data and for the log.

use super::definition::{Key, Kind};
use super::make::{count, fixed, optional, started};
use crate::Profile;

/// What the keys of a volume's limits take.
const RATE: Kind = Kind::Bytes {
    min: 4 << 10,
    max: 1 << 50,
};
const IOPS: Kind = count(1, 1_000_000_000);

/// A kind of file system, or none.
const FILE_SYSTEMS: &[&str] = &["none", "ext4", "xfs", "btrfs"];

macro_rules! volume_keys {
    // The documentation of the directory, and the keys that only this volume has.
    ($section:literal, $directory:literal $(, $own:expr)*) => {
        [
            started(optional(concat!($section, ".directory"), Kind::Path, $directory)),
            started(optional(concat!($section, ".filesystem"), Kind::Choice(FILE_SYSTEMS),
                "Makes a file system of this kind for each server, on loop devices over sparse files in `directory`, or on `device`. It is mounted with `nosuid,nodev`, and removed with the server. Needs root. Default: `none`; the volume is a directory.")),
            started(optional(concat!($section, ".devices"), count(1, 32),
                "Number of loop devices below the file system: the stripe width. More than one only for `btrfs`. Default: 1.")),
            started(optional(concat!($section, ".device_size"), Kind::Bytes { min: 128 << 20, max: 64 << 40 },
                "Size of each loop device. Its file is sparse: it takes only what is written, but may grow to this size, for which the disk must have room. XFS needs 300M. Default: `\"2G\"`.")),
            started(optional(concat!($section, ".profile"), Kind::Choice(Profile::WORDS),
                "How btrfs distributes data and metadata over its devices: `single` (one copy), `raid0` (one copy, striped), `raid1` (two copies, at least 2 devices), `raid10` (two copies, striped, at least 4), or `raid5` (striped with parity, at least 2). Default: `single` with one device, `raid0` with several.")),
            started(optional(concat!($section, ".checksum"), Kind::Boolean,
                "Whether btrfs keeps checksums of data; `false` mounts it with `nodatasum`. Default: `true`.")),
            started(optional(concat!($section, ".compression"), Kind::Name { max_chars: 20 },
                "How btrfs compresses data: `none`, `lzo`, `zstd`, or `zstd:LEVEL` with a level from 1 to 15. It compresses all data, also where that saves nothing at first. Default: `none`.")),
            $($own,)*
            started(optional(concat!($section, ".mount_options"), Kind::Name { max_chars: 200 },
                "More options for its mount, separated by commas, such as `\"noatime,commit=60\"`.")),
            started(optional(concat!($section, ".device"), Kind::Path,
                "The block device for the file system, such as `/dev/nvme1n1`, instead of loop devices. dyno formats it only if `allow_format` lists it, it is not mounted, and it holds no file system.")),
            fixed(started(optional(concat!($section, ".allow_format"), Kind::Paths,
                "The devices that dyno may format: `allow_format = [\"/dev/nvme1n1\"]`. All data on them is lost."))),
            started(optional(concat!($section, ".scheduler"), Kind::Name { max_chars: 40 },
                "The IO scheduler of the volume's devices during the trial, such as `none` or `mq-deadline`. The previous one is put back afterward. Needs root. Default: as it is.")),
            started(optional(concat!($section, ".read_iops"), IOPS,
                "The most reads per second of each device. Requires root. Default: no limit.")),
            started(optional(concat!($section, ".write_iops"), IOPS,
                "The most writes per second of each device.")),
            started(optional(concat!($section, ".read_bytes_per_s"), RATE,
                "The most bytes read per second from each device, such as `\"500M\"`.")),
            started(optional(concat!($section, ".write_bytes_per_s"), RATE,
                "The most bytes written per second to each device, such as `\"200M\"`.")),
        ]
    };
}

/// Whether equal blocks are shared, which a log has none of.
const DEDUPLICATE: Key = started(optional(
    "volume.deduplicate",
    Kind::Boolean,
    "Whether equal blocks of the data are shared before the server starts (`duperemove`); for `btrfs` and `xfs`. Default: `false`.",
));

#[rustfmt::skip]
pub(super) const DATA: &[Key] = &volume_keys!("volume",
    "Directory on the disk to test, such as `/mnt/nvme`. Each server's data is in a new directory below it, which is removed with the server. Default: dyno's cache, where prepared data is always kept.",
    DEDUPLICATE);

#[rustfmt::skip]
pub(super) const LOG: &[Key] = &volume_keys!("log_volume",
    "Directory on the disk of the log, such as `/mnt/log`. Each server's log is in a new directory below it, which is removed with the server. Required unless `filesystem` makes one; its loop devices' files are in dyno's cache by default.");

#[cfg(test)]
mod tests {
    use super::FILE_SYSTEMS;
    use crate::FileSystemKind;

    #[test]
    fn a_volume_may_have_any_file_system() {
        assert_eq!(FILE_SYSTEMS[1..], *FileSystemKind::WORDS);
    }
}
