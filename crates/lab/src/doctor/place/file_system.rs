//! What a directory is mounted on, and how much of it is free.

use measure::finding::Level;

use super::Place;
use measure::bytes::shown_bytes;
use measure::finding::check::{About, Check, Mend, Seen};

/// A disk that is fuller takes longer to find room: one part in so many is to be free.
const KEPT_FREE: u64 = 10;

pub(super) const CHECKS: &[Check<Place>] = &[
    Check {
        about: About {
            id: "file-system",
            worst: Level::Spoils,
            why: "In memory nothing waits for a disk, over a network everything waits for it, and a file system that copies on each write spreads the pages of a table.",
            source: "MySQL manual, Optimizing InnoDB Disk I/O",
            mend: Mend::Words(
                "put the data on ext4 or XFS of a local disk: server.directory in the study, or DYNO_CACHE_DIR=/path",
            ),
        },
        judge: file_system,
    },
    Check {
        about: About {
            id: "mount-atime",
            worst: Level::Careful,
            why: "Each read of a file is a write of its time of access.",
            source: "mount(8), strictatime",
            mend: Mend::Words("mount -o remount,noatime MOUNT"),
        },
        judge: atime,
    },
    Check {
        about: About {
            id: "mount-barrier",
            worst: Level::Spoils,
            why: "Without barriers a flush does not reach the disk, so commits are faster than they are durable.",
            source: "kernel docs, filesystems/ext4 (barrier)",
            mend: Mend::Words("mount -o remount,barrier=1 MOUNT"),
        },
        judge: barrier,
    },
    Check {
        about: About {
            id: "mount-journal",
            worst: Level::Careful,
            why: "With data=journal the file system writes everything twice, besides the doublewrite of the server.",
            source: "kernel docs, filesystems/ext4 (data=)",
            mend: Mend::Words("data=ordered in /etc/fstab, then mount it anew"),
        },
        judge: journal,
    },
    Check {
        about: About {
            id: "mount-discard",
            worst: Level::Note,
            why: "Dropping tables or data directories between trials has the disk erase blocks while the next trial is measured.",
            source: "fstrim(8); MySQL on VMware ESX (Sun, VMware) (tables dropped and built before each run)",
            mend: Mend::Words("mount -o remount,nodiscard MOUNT, and fstrim MOUNT once a week"),
        },
        judge: discard,
    },
    Check {
        about: About {
            id: "disk-free",
            worst: Level::Spoils,
            why: "A disk that fills up ends the study, and a nearly full one gets slower.",
            source: "MySQL manual, How MySQL Handles a Full Disk",
            mend: Mend::Words("dyno clean --templates, or name another disk with DYNO_CACHE_DIR"),
        },
        judge: free,
    },
];

impl Place {
    /// Whether it is mounted with one of these options.
    fn option<'a>(&self, wanted: &[&'a str]) -> Option<&'a str> {
        let options = self.described.options.as_deref()?;
        let has = |wanted: &&&str| options.split(',').any(|option| option == **wanted);
        wanted.iter().find(has).copied()
    }

    /// Judges the options; without any, nothing is known.
    fn by_options(&self, judge: impl FnOnce() -> Seen) -> Seen {
        match self.described.options {
            None => Seen::unseen("/proc/self/mountinfo does not tell where it is mounted"),
            Some(_) => judge(),
        }
    }
}

fn file_system(place: &Place) -> Seen {
    let Some(name) = place.described.file_system.as_deref() else {
        return Seen::unseen("/proc/self/mountinfo does not tell what is mounted there");
    };
    let seen = format!("/proc/self/mountinfo: {}", place.mount());
    match name {
        "tmpfs" | "ramfs" => Seen::spoils(seen),
        "nfs" | "nfs4" | "cifs" | "smb3" | "9p" | "virtiofs" | "overlay" | "ceph" => {
            Seen::careful(seen)
        }
        _ if name.starts_with("fuse") => Seen::careful(seen),
        "btrfs" | "zfs" | "bcachefs" => Seen::note(seen),
        _ => Seen::passed(seen),
    }
}

fn atime(place: &Place) -> Seen {
    place.by_options(|| match place.option(&["noatime", "relatime", "ro"]) {
        Some(option) => Seen::passed(format!("{}: {option}", place.mount())),
        None => Seen::careful(format!("{}: neither noatime nor relatime", place.mount()))
            .with("MOUNT", place.mount_point()),
    })
}

fn barrier(place: &Place) -> Seen {
    place.by_options(|| match place.option(&["nobarrier", "barrier=0"]) {
        Some(option) => {
            Seen::spoils(format!("{}: {option}", place.mount())).with("MOUNT", place.mount_point())
        }
        None => Seen::passed(format!("{}: barriers are not off", place.mount())),
    })
}

fn journal(place: &Place) -> Seen {
    place.by_options(|| match place.option(&["data=journal", "data=writeback"]) {
        Some("data=journal") => Seen::careful(format!("{}: data=journal", place.mount())),
        Some(option) => Seen::note(format!("{}: {option}", place.mount())),
        None => Seen::passed(format!("{}: not data=journal", place.mount())),
    })
}

fn discard(place: &Place) -> Seen {
    place.by_options(|| {
        let options = ["discard", "discard=async"];
        match place.option(&options) {
            Some(option) => Seen::note(format!("{}: {option}", place.mount()))
                .with("MOUNT", place.mount_point()),
            None => Seen::passed(format!("{}: no discard", place.mount())),
        }
    })
}

fn free(place: &Place) -> Seen {
    let (Some(free), Some(total)) = (place.free_bytes, place.total_bytes) else {
        return Seen::unseen("statvfs does not tell");
    };
    let needed = place.needed_bytes;
    let mut seen = format!("{} of {} are free", shown_bytes(free), shown_bytes(total));
    if needed > 0 {
        seen.push_str(&format!(", the load needs {}", shown_bytes(needed)));
    }
    match free {
        _ if needed > free => Seen::spoils(seen),
        _ if free - needed < total / KEPT_FREE => Seen::careful(seen),
        _ => Seen::passed(seen),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::place::tests::{place, sound};
    use Level::{Careful, Note, Passed, Spoils};

    #[test]
    fn file_systems() {
        let with = |name: &str| file_system(&place(name, "rw", &[])).level();
        assert_eq!(with("tmpfs"), Spoils);
        assert_eq!(
            [with("overlay"), with("fuse.sshfs"), with("nfs4")],
            [Careful; 3]
        );
        assert_eq!(with("btrfs"), Note);
        assert_eq!([with("xfs"), with("ext4")], [Passed; 2]);
    }

    #[test]
    fn mount_options() {
        let with = |options: &str| {
            let place = place("ext4", options, &[]);
            [atime, barrier, journal, discard].map(|judge| judge(&place).level())
        };
        assert_eq!(with("rw,relatime"), [Passed; 4]);
        assert_eq!(with("rw,nobarrier"), [Careful, Spoils, Passed, Passed]);
        assert_eq!(
            with("rw,noatime,barrier=0"),
            [Passed, Spoils, Passed, Passed]
        );
        assert_eq!(
            with("rw,noatime,data=journal"),
            [Passed, Passed, Careful, Passed]
        );
        assert_eq!(
            with("rw,noatime,data=writeback,discard"),
            [Passed, Passed, Note, Note]
        );
    }

    #[test]
    fn room() {
        let needing = |needed_bytes| {
            free(&Place {
                needed_bytes,
                ..sound()
            })
            .level()
        };
        assert_eq!(
            [needing(0), needing(40), needing(41), needing(51)],
            [Passed, Passed, Careful, Spoils]
        );
    }
}
