//! The file system of a directory that holds data.

use measure::finding::Level::{self, Note, Severe, Warning};
use plan::shown_bytes;

use super::check::{About, Check, Observed, Remedy};
use super::rule::graded;
use super::storage::DataStorage;

/// The fraction of a disk that should stay free: one in `RESERVE`.
const RESERVE: u64 = 10;

/// File systems that are unsuitable or need attention; all others pass.
const FILE_SYSTEMS: [(&str, Level); 16] = [
    ("tmpfs", Severe),
    ("ramfs", Severe),
    ("nfs", Warning),
    ("nfs4", Warning),
    ("cifs", Warning),
    ("smb3", Warning),
    ("9p", Warning),
    ("virtiofs", Warning),
    ("overlay", Warning),
    ("ceph", Warning),
    // Also with the name of its driver, for example `fuse.sshfs`.
    ("fuse", Warning),
    ("fuseblk", Warning),
    ("fusectl", Warning),
    ("btrfs", Note),
    ("zfs", Note),
    ("bcachefs", Note),
];

pub(super) const CHECKS: &[Check<DataStorage>] = &[
    Check {
        about: About {
            id: "file-system",
            worst: Severe,
            why: "A file system in memory never waits for a disk, a network file system always waits for the network, and a copy-on-write file system fragments tables.",
            source: "tmpfs(5), nfs(5), btrfs(5)",
            remedy: Remedy::Words(
                "use ext4 or XFS on a local disk: volume.directory in the study, or DYNO_CACHE_DIR=/path",
            ),
        },
        judge: |data| {
            let Some(name) = data.storage.described.file_system.as_deref() else {
                return Observed::unknown("/proc/self/mountinfo: file system unknown");
            };
            let kind = name.split('.').next();
            let found = FILE_SYSTEMS.iter().find(|(known, _)| Some(*known) == kind);
            let observed = format!("/proc/self/mountinfo: {}", data.mount());
            graded(found.map(|(_, level)| *level), observed)
        },
    },
    Check {
        about: About {
            id: "mount-atime",
            worst: Warning,
            why: "Each read of a file also writes its access time.",
            source: "mount(8), strictatime",
            remedy: Remedy::Words("mount -o remount,noatime MOUNT"),
        },
        judge: |data| match data.option(&["noatime", "relatime", "ro"]) {
            Some(None) => data.found(Warning, "neither noatime nor relatime"),
            _ => data.with_options(&[], "access times are not written on each read"),
        },
    },
    Check {
        about: About {
            id: "mount-barrier",
            worst: Severe,
            why: "Without write barriers, flushes do not reach the disk: commits are fast, but not durable.",
            source: "kernel docs, filesystems/ext4 (barrier)",
            remedy: Remedy::Words("mount -o remount,barrier=1 MOUNT"),
        },
        judge: |data| {
            let options = [("nobarrier", Severe), ("barrier=0", Severe)];
            data.with_options(&options, "write barriers are on")
        },
    },
    Check {
        about: About {
            id: "mount-journal",
            worst: Warning,
            why: "With data=journal, the file system writes all data twice, in addition to the server's doublewrite buffer or full-page writes.",
            source: "kernel docs, filesystems/ext4 (data=)",
            remedy: Remedy::Words("set data=ordered in /etc/fstab, then remount the file system"),
        },
        judge: |data| {
            let options = [("data=journal", Warning), ("data=writeback", Note)];
            data.with_options(&options, "not data=journal")
        },
    },
    Check {
        about: About {
            id: "mount-discard",
            worst: Note,
            why: "After tables or data directories are removed between trials, the disk erases their blocks while the next trial is measured.",
            source: "fstrim(8); Sun and VMware paper (tables dropped and built before each run)",
            remedy: Remedy::Words("mount -o remount,nodiscard MOUNT, and run fstrim MOUNT weekly"),
        },
        judge: |data| {
            let options = [("discard", Note), ("discard=async", Note)];
            data.with_options(&options, "no discard")
        },
    },
    Check {
        about: About {
            id: "disk-free",
            worst: Severe,
            why: "A full disk ends the study, and a nearly full disk is slower.",
            source: "mke2fs(8) (-m: reserved blocks reduce fragmentation)",
            remedy: Remedy::Words(
                "dyno clean --templates, or use another disk with DYNO_CACHE_DIR",
            ),
        },
        judge: free,
    },
];

impl DataStorage {
    fn mount_point(&self) -> &str {
        self.storage.described.mount_point.as_deref().unwrap_or("/")
    }

    /// The file system and where it is mounted, for example `ext4 at /srv`.
    pub(super) fn mount(&self) -> String {
        let system = self.storage.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    /// The first of these mount options that is set; `None` if the options are unknown.
    fn option<'a>(&self, wanted: &[&'a str]) -> Option<Option<&'a str>> {
        let options = self.storage.described.options.as_deref()?;
        let has = |wanted: &&&str| options.split(',').any(|option| option == **wanted);
        Some(wanted.iter().find(has).copied())
    }

    /// Grades the first of these mount options that is set; `without` describes their absence.
    fn with_options(&self, findings: &[(&str, Level)], without: &str) -> Observed {
        let names: Vec<&str> = findings.iter().map(|(name, _)| *name).collect();
        match self.option(&names) {
            None => Observed::unknown("/proc/self/mountinfo: mount options unknown"),
            Some(None) => Observed::passed(format!("{}: {without}", self.mount())),
            Some(Some(option)) => {
                let found = findings.iter().find(|(name, _)| *name == option);
                self.found(found.map_or(Note, |(_, level)| *level), option)
            }
        }
    }

    fn found(&self, level: Level, what: &str) -> Observed {
        let observed = format!("{}: {what}", self.mount());
        Observed::found(level, observed).with("MOUNT", self.mount_point())
    }
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

#[cfg(test)]
pub(super) mod tests {
    use host::{RequestQueue, Storage};
    use measure::finding::Level::{Passed, Unknown};
    use measure::result::{self, Disk};

    use super::*;
    use crate::doctor::disk;

    pub(in crate::doctor) fn on(
        file_system: &str,
        options: &str,
        disks: &[(&str, &str)],
    ) -> DataStorage {
        let disk = |(name, scheduler): &(&str, &str)| Disk {
            name: (*name).to_owned(),
            scheduler: Some((*scheduler).to_owned()),
            ..Disk::default()
        };
        let described = result::Place {
            path: "/srv/data".into(),
            mount_point: Some("/srv".into()),
            file_system: Some(file_system.into()),
            source: Some("/dev/sdb1".into()),
            options: Some(options.into()),
            disks: disks.iter().map(disk).collect(),
        };
        DataStorage {
            storage: Storage {
                described,
                free_bytes: Some(50),
                total_bytes: Some(100),
                queues: vec![request_queue("/nr_requests", 128, None)],
                ..Storage::default()
            },
            system_disks: vec!["sda".into()],
            disks: 2,
            needed_bytes: 0,
        }
    }

    pub(in crate::doctor) fn sound() -> DataStorage {
        on("ext4", "rw,noatime", &[("sdb", "mq-deadline")])
    }

    pub(in crate::doctor) fn request_queue(
        file: &str,
        depth: u64,
        max: Option<u64>,
    ) -> RequestQueue {
        RequestQueue {
            file: file.into(),
            depth,
            max,
        }
    }

    fn judge(id: &str, data: &DataStorage) -> Level {
        let check = CHECKS.iter().find(|check| check.about.id == id);
        (check.unwrap().judge)(data).level()
    }

    #[test]
    fn a_dedicated_disk_passes_and_a_missing_one_is_unknown() {
        for check in CHECKS.iter().chain(disk::CHECKS) {
            let (id, judge) = (check.about.id, check.judge);
            assert_eq!(judge(&sound()).level(), Passed, "{id}");
            assert_eq!(judge(&DataStorage::default()).level(), Unknown, "{id}");
        }
    }

    #[test]
    fn file_systems() {
        for (name, level) in [
            ("tmpfs", Severe),
            ("overlay", Warning),
            ("fuse.sshfs", Warning),
            ("fuseblk", Warning),
            ("nfs4", Warning),
            ("btrfs", Note),
            ("xfs", Passed),
            ("ext4", Passed),
        ] {
            assert_eq!(judge("file-system", &on(name, "rw", &[])), level, "{name}");
        }
    }

    #[test]
    fn mount_options() {
        let with = |options: &str| {
            let data = on("ext4", options, &[]);
            let ids = ["atime", "barrier", "journal", "discard"];
            ids.map(|id| judge(&format!("mount-{id}"), &data))
        };
        assert_eq!(with("rw,relatime"), [Passed; 4]);
        assert_eq!(with("rw,nobarrier"), [Warning, Severe, Passed, Passed]);
        let barrier = [Passed, Severe, Passed, Passed];
        assert_eq!(with("rw,noatime,barrier=0"), barrier);
        let journal = [Passed, Passed, Warning, Passed];
        assert_eq!(with("rw,noatime,data=journal"), journal);
        let both = [Passed, Passed, Note, Note];
        assert_eq!(with("rw,noatime,data=writeback,discard"), both);
        let data = on("ext4", "rw,nobarrier,noatime", &[]);
        let observed = Observed::severe("ext4 at /srv: nobarrier").with("MOUNT", "/srv");
        assert_eq!((CHECKS[2].judge)(&data), observed);
    }

    #[test]
    fn free_space() {
        let needing = |needed_bytes| {
            free(&DataStorage {
                needed_bytes,
                ..sound()
            })
            .level()
        };
        let levels = [0, 40, 41, 51].map(needing);
        assert_eq!(levels, [Passed, Passed, Warning, Severe]);
    }
}
