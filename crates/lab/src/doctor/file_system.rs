//! The file system of a directory that holds data.

use measure::checks;
use measure::finding::Level::{self, Note, Passed, Severe, Warning};
use measure::finding::check::{Check, Judged, Observed};
use plan::shown_bytes;

use super::storage::DataStorage;

/// The fraction of a disk that should stay free: one in `RESERVE`.
const RESERVE: u64 = 10;

/// File systems that are unsuitable or need attention; all others pass. A name may be followed by
/// that of a driver, for example `fuse.sshfs`.
const FILE_SYSTEMS: [(Level, &[&str]); 3] = [
    (Severe, &["tmpfs", "ramfs"]),
    (
        Warning,
        &[
            "nfs", "nfs4", "cifs", "smb3", "9p", "virtiofs", "overlay", "ceph", "fuse", "fuseblk",
            "fusectl",
        ],
    ),
    (Note, &["btrfs", "zfs", "bcachefs"]),
];

pub(super) const CHECKS: &[Check<DataStorage>] = checks! { data:
    "file-system", Severe => file_system(data),
        why: "A file system in memory never waits for a disk, a network file system always waits for the network, and a copy-on-write file system fragments tables.",
        source: "tmpfs(5), nfs(5), btrfs(5)",
        remedy: Words("use ext4 or XFS on a local disk: volume.directory in the study, or DYNO_CACHE_DIR=/path");
    "mount-atime", Warning => access_times(data),
        why: "Each read of a file also writes its access time.",
        source: "mount(8), strictatime",
        remedy: Words("mount -o remount,noatime MOUNT");
    "mount-barrier", Severe => data.with_options(&[("nobarrier", Severe), ("barrier=0", Severe)], "write barriers are on"),
        why: "Without write barriers, flushes do not reach the disk: commits are fast, but not durable.",
        source: "kernel docs, filesystems/ext4 (barrier)",
        remedy: Words("mount -o remount,barrier=1 MOUNT");
    "mount-journal", Warning => data.with_options(&[("data=journal", Warning), ("data=writeback", Note)], "not data=journal"),
        why: "With data=journal, the file system writes all data twice, in addition to the server's doublewrite buffer or full-page writes.",
        source: "kernel docs, filesystems/ext4 (data=)",
        remedy: Words("set data=ordered in /etc/fstab, then remount the file system");
    "mount-discard", Note => data.with_options(&[("discard", Note), ("discard=async", Note)], "no discard"),
        why: "After tables or data directories are removed between trials, the disk erases their blocks while the next trial is measured.",
        source: "fstrim(8); Sun and VMware paper (tables dropped and built before each run)",
        remedy: Words("mount -o remount,nodiscard MOUNT, and run fstrim MOUNT weekly");
    "disk-free", Severe => free(data),
        why: "A full disk ends the study, and a nearly full disk is slower.",
        source: "mke2fs(8) (-m: reserved blocks reduce fragmentation)",
        remedy: Words("dyno clean --templates, or use another disk with DYNO_CACHE_DIR");
};

impl DataStorage {
    fn mount_point(&self) -> &str {
        self.storage.described.mount_point.as_deref().unwrap_or("/")
    }

    /// The file system and where it is mounted, for example `ext4 at /srv`.
    pub(super) fn mount(&self) -> String {
        let system = self.storage.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    fn options(&self) -> Result<Vec<&str>, Observed> {
        let unknown = || Observed::unknown("/proc/self/mountinfo: mount options unknown");
        let options = self.storage.described.options.as_deref();
        Ok(options.ok_or_else(unknown)?.split(',').collect())
    }

    /// Grades the first of these mount options that is set; `without` describes their absence.
    fn with_options(&self, findings: &[(&str, Level)], without: &str) -> Judged {
        let options = self.options()?;
        let found = findings.iter().find(|(name, _)| options.contains(name));
        let (what, level) = found.copied().unwrap_or((without, Passed));
        Ok(self.mounted(level, what))
    }

    fn mounted(&self, level: Level, what: &str) -> Observed {
        Observed::graded(level, format!("{}: {what}", self.mount()))
            .with("MOUNT", self.mount_point())
    }
}

fn file_system(data: &DataStorage) -> Observed {
    let Some(name) = data.storage.described.file_system.as_deref() else {
        return Observed::unknown("/proc/self/mountinfo: file system unknown");
    };
    let kind = name.split('.').next().unwrap_or(name);
    let found = FILE_SYSTEMS.iter().find(|(_, names)| names.contains(&kind));
    let level = found.map_or(Passed, |(level, _)| *level);
    Observed::graded(level, format!("/proc/self/mountinfo: {}", data.mount()))
}

fn access_times(data: &DataStorage) -> Judged {
    let options = data.options()?;
    let is_written = !["noatime", "relatime", "ro"]
        .iter()
        .any(|option| options.contains(option));
    Ok(match is_written {
        true => data.mounted(Warning, "neither noatime nor relatime"),
        false => data.mounted(Passed, "access times are not written on each read"),
    })
}

fn free(data: &DataStorage) -> Observed {
    let (Some(free), Some(total)) = (data.storage.free_bytes, data.storage.total_bytes) else {
        return Observed::unknown("statvfs: free space unknown");
    };
    let needed = data.needed_bytes;
    let mut observed = format!("{} of {} free", shown_bytes(free), shown_bytes(total));
    if needed > 0 {
        observed.push_str(&format!("; the load needs {}", shown_bytes(needed)));
    }
    match free {
        _ if needed > free => Observed::severe(observed),
        _ if free - needed < total / RESERVE => Observed::warning(observed),
        _ => Observed::passed(observed),
    }
}
