//! The file system of a directory that holds data.

use measure::finding::Level::{self, Note, Passed, Severe, Warning};
use measure::finding::check::{Judged, Observed, graded, passed, severe, unknown, warning};
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

impl DataStorage {
    fn mount_point(&self) -> &str {
        self.storage.described.mount_point.as_deref().unwrap_or("/")
    }

    /// The file system and its mount point, for example `ext4 at /srv`.
    pub(super) fn mount(&self) -> String {
        let system = self.storage.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    fn options(&self) -> Result<Vec<&str>, Observed> {
        let unknown = || unknown("/proc/self/mountinfo: mount options unknown");
        let options = self.storage.described.options.as_deref();
        Ok(options.ok_or_else(unknown)?.split(',').collect())
    }

    /// Grades the first of these mount options that is set; `without` describes their absence.
    pub(super) fn with_options(&self, findings: &[(&str, Level)], without: &str) -> Judged {
        let options = self.options()?;
        let found = findings.iter().find(|(name, _)| options.contains(name));
        let (what, level) = found.copied().unwrap_or((without, Passed));
        Ok(self.mounted(level, what))
    }

    fn mounted(&self, level: Level, what: &str) -> Observed {
        graded(level, format!("{}: {what}", self.mount())).with("MOUNT", self.mount_point())
    }
}

pub(super) fn file_system(data: &DataStorage) -> Observed {
    let Some(name) = data.storage.described.file_system.as_deref() else {
        return unknown("/proc/self/mountinfo: file system unknown");
    };
    let kind = name.split('.').next().unwrap_or(name);
    let found = FILE_SYSTEMS.iter().find(|(_, names)| names.contains(&kind));
    let level = found.map_or(Passed, |(level, _)| *level);
    graded(level, format!("/proc/self/mountinfo: {}", data.mount()))
}

pub(super) fn access_times(data: &DataStorage) -> Judged {
    let options = data.options()?;
    let is_written = !["noatime", "relatime", "ro"]
        .iter()
        .any(|option| options.contains(option));
    Ok(match is_written {
        true => data.mounted(Warning, "neither noatime nor relatime"),
        false => data.mounted(Passed, "access times are not written on each read"),
    })
}

pub(super) fn free(data: &DataStorage) -> Observed {
    let (Some(free), Some(total)) = (data.storage.free_bytes, data.storage.total_bytes) else {
        return unknown("statvfs: free space unknown");
    };
    let needed = data.needed_bytes;
    let mut observed = format!("{} of {} free", shown_bytes(free), shown_bytes(total));
    if needed > 0 {
        observed.push_str(&format!("; the load needs {}", shown_bytes(needed)));
    }
    match free {
        _ if needed > free => severe(observed),
        _ if free - needed < total / RESERVE => warning(observed),
        _ => passed(observed),
    }
}
