//! A directory that holds data: its file system, and the disks under it.

use measure::finding::Level;
use measure::result::Place as Described;

use super::check::{About, Check, Mend, Seen};
use crate::needs::shown_bytes;

/// A disk that is fuller takes longer to find room: one part in so many is to be free.
const KEPT_FREE: u64 = 10;
/// A queue that is shorter keeps a disk with several heads or chips from working in parallel.
const SHORT_QUEUE: u64 = 32;

/// What is known of a place.
#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct Place {
    /// The file system and its disks.
    pub(super) described: Described,
    /// Disks that hold the operating system.
    pub(super) system_disks: Vec<String>,
    pub(super) free_bytes: Option<u64>,
    pub(super) total_bytes: Option<u64>,
    /// What the load is going to take here.
    pub(super) needed_bytes: u64,
    /// Requests that a disk takes at once, by its name.
    pub(super) queues: Vec<(String, u64)>,
    /// Disks that the kernel puts together from others.
    pub(super) assembled: Vec<Assembled>,
}

/// A disk that the kernel makes of others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Assembled {
    pub(super) name: String,
    /// For example `raid10`, or `volume` of a volume manager.
    pub(super) level: String,
    /// Disks that are missing.
    pub(super) degraded: u64,
    /// What it does besides, for example `resync`.
    pub(super) action: Option<String>,
}

pub(super) const CHECKS: &[Check<Place>] = &[
    Check {
        about: About {
            id: "io-scheduler",
            worst: Level::Spoils,
            why: "A scheduler that shares the disk fairly holds a database's requests back: with CFQ the CPUs of paper P4 were 60-70 % busy, with deadline they had work.",
            source: "paper P4 (deadline), paper P2 (noop); kernel docs, block/switching-sched",
            mend: Mend::Words("echo mq-deadline > /sys/block/DISK/queue/scheduler"),
        },
        judge: scheduler,
    },
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
            source: "fstrim(8); paper P1 (tables dropped and built before each run)",
            mend: Mend::Words("mount -o remount,nodiscard MOUNT, and fstrim MOUNT once a week"),
        },
        judge: discard,
    },
    Check {
        about: About {
            id: "data-beside-system",
            worst: Level::Careful,
            why: "Logs, swap and every program's files share the disk with the data.",
            source: "paper P1, best practices (operating system and database on separate disks)",
            mend: Mend::Words(
                "put the data on a disk of its own: server.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir",
            ),
        },
        judge: beside_system,
    },
    Check {
        about: About {
            id: "raid",
            worst: Level::Spoils,
            why: "An array that lacks a disk or builds itself anew is slower than it will be, and one of the kernel's own takes CPU time from the server.",
            source: "paper P1, best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
            mend: Mend::Words("wait until it is whole: cat /proc/mdstat"),
        },
        judge: raid,
    },
    Check {
        about: About {
            id: "queue-depth",
            worst: Level::Note,
            why: "A short queue keeps the disk from working on requests at the same time.",
            source: "paper P1, best practices (queue depth 128)",
            mend: Mend::Words("echo 128 > /sys/block/DISK/device/queue_depth"),
        },
        judge: queue,
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

    fn mount_point(&self) -> &str {
        self.described.mount_point.as_deref().unwrap_or("/")
    }

    /// Its file system and where it is mounted, for example `ext4 at /srv`.
    fn mount(&self) -> String {
        let system = self.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    /// Judges the options; without any, nothing is known.
    fn by_options(&self, judge: impl FnOnce() -> Seen) -> Seen {
        match self.described.options {
            None => Seen::unseen("/proc/self/mountinfo does not tell where it is mounted"),
            Some(_) => judge(),
        }
    }
}

fn no_disk(place: &Place) -> Seen {
    Seen::unseen(format!("{}: no disk that the kernel names", place.mount()))
}

fn scheduler(place: &Place) -> Seen {
    let disks = place.described.disks.iter();
    let told: Vec<(&str, &str)> = disks
        .filter_map(|disk| Some((disk.name.as_str(), disk.scheduler.as_deref()?)))
        .collect();
    let shown = |(disk, scheduler): &(&str, &str)| {
        format!("/sys/block/{disk}/queue/scheduler: {scheduler}")
    };
    let unfair = told
        .iter()
        .find(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    match (unfair, told.first()) {
        (Some(disk), _) => Seen::spoils(shown(disk)).with("DISK", disk.0),
        (None, Some(_)) => Seen::passed(told.iter().map(shown).collect::<Vec<_>>().join(", ")),
        (None, None) => no_disk(place),
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

fn beside_system(place: &Place) -> Seen {
    let disks: Vec<&str> = place
        .described
        .disks
        .iter()
        .map(|disk| disk.name.as_str())
        .collect();
    if disks.is_empty() || place.system_disks.is_empty() {
        return no_disk(place);
    }
    let shared = disks
        .iter()
        .find(|disk| place.system_disks.iter().any(|system| system == *disk));
    match shared {
        Some(disk) => Seen::careful(format!("{} lies on {disk}, as / does", place.mount())),
        None => Seen::passed(format!(
            "{} lies on {}, / on {}",
            place.mount(),
            disks.join(", "),
            place.system_disks.join(", ")
        )),
    }
}

fn raid(place: &Place) -> Seen {
    let busy = |array: &&Assembled| array.degraded > 0 || array.action.is_some();
    if let Some(array) = place.assembled.iter().find(busy) {
        let state = match (&array.action, array.degraded) {
            (Some(action), _) => action.clone(),
            (None, missing) => format!("{missing} disks are missing"),
        };
        return Seen::spoils(format!(
            "/sys/block/{}: {}, {state}",
            array.name, array.level
        ));
    }
    match place.assembled.first() {
        Some(array) => Seen::note(format!("/sys/block/{}: {}", array.name, array.level)),
        None if place.described.disks.is_empty() => no_disk(place),
        None => Seen::passed("/sys/block: no array of the kernel's own"),
    }
}

fn queue(place: &Place) -> Seen {
    let Some((disk, depth)) = place.queues.iter().min_by_key(|(_, depth)| *depth) else {
        return no_disk(place);
    };
    let seen = format!("/sys/block/{disk}: {depth} requests at once");
    match *depth {
        ..SHORT_QUEUE => Seen::note(seen).with("DISK", disk),
        _ => Seen::passed(seen),
    }
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
    use Level::{Careful, Note, Passed, Spoils, Unseen};
    use measure::result::Disk;

    fn place(file_system: &str, options: &str, disks: &[(&str, &str)]) -> Place {
        let disk = |(name, scheduler): &(&str, &str)| Disk {
            name: (*name).to_owned(),
            scheduler: Some((*scheduler).to_owned()),
            ..Disk::default()
        };
        Place {
            described: Described {
                path: "/srv/data".into(),
                mount_point: Some("/srv".into()),
                file_system: Some(file_system.into()),
                source: Some("/dev/sdb1".into()),
                options: Some(options.into()),
                disks: disks.iter().map(disk).collect(),
            },
            system_disks: vec!["sda".into()],
            free_bytes: Some(50),
            total_bytes: Some(100),
            queues: disks
                .iter()
                .map(|(name, _)| ((*name).to_owned(), 128))
                .collect(),
            ..Place::default()
        }
    }

    fn sound() -> Place {
        place("ext4", "rw,noatime", &[("sdb", "mq-deadline")])
    }

    #[test]
    fn a_disk_for_the_data_passes_and_no_disk_cannot_be_looked_at() {
        for check in CHECKS {
            assert_eq!(
                (check.judge)(&sound()).level(),
                Passed,
                "{}",
                check.about.id
            );
            let unknown = (check.judge)(&Place::default()).level();
            assert_eq!(unknown, Unseen, "{}", check.about.id);
        }
    }

    #[test]
    fn one_unfair_scheduler_is_enough() {
        let two = place("btrfs", "rw", &[("sdb", "none"), ("sdc", "bfq")]);
        assert_eq!(
            scheduler(&two),
            Seen::spoils("/sys/block/sdc/queue/scheduler: bfq").with("DISK", "sdc")
        );
        assert_eq!(
            scheduler(&place("ext4", "rw", &[("sdb", "kyber")])).level(),
            Passed
        );
    }

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
    fn data_and_system_on_one_disk() {
        assert_eq!(
            beside_system(&place("ext4", "rw", &[("sda", "none")])).level(),
            Careful
        );
        assert_eq!(beside_system(&sound()).level(), Passed);
    }

    #[test]
    fn arrays() {
        let with = |degraded, action: Option<&str>| {
            let array = Assembled {
                name: "md0".into(),
                level: "raid10".into(),
                degraded,
                action: action.map(str::to_owned),
            };
            raid(&Place {
                assembled: vec![array],
                ..sound()
            })
            .level()
        };
        assert_eq!(with(0, None), Note);
        assert_eq!(with(1, None), Spoils);
        assert_eq!(with(0, Some("resync")), Spoils);
    }

    #[test]
    fn queues_and_room() {
        let short = Place {
            queues: vec![("sdb".into(), 128), ("sdc".into(), 1)],
            ..sound()
        };
        assert_eq!(
            queue(&short),
            Seen::note("/sys/block/sdc: 1 requests at once").with("DISK", "sdc")
        );
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
