//! A directory that holds data: its file system, and the disks below it.

use host::{Queue, Volume};
use measure::finding::Level::{self, Careful, Note, Spoils};

use super::check::{About, Check, Mend, Seen};
use super::machine::DataPlace;
use super::rule::graded;
use crate::needs::shown_bytes;

/// A shorter queue keeps a disk with several heads or chips from working in parallel.
const SHORT_QUEUE: u64 = 32;
/// Long enough.
const LONG_QUEUE: u64 = 128;
/// The part of a disk that should stay free: one in this many.
const RESERVE: u64 = 10;

/// File systems that are not a local one for databases; the others pass.
const FILE_SYSTEMS: [(&str, Level); 16] = [
    ("tmpfs", Spoils),
    ("ramfs", Spoils),
    ("nfs", Careful),
    ("nfs4", Careful),
    ("cifs", Careful),
    ("smb3", Careful),
    ("9p", Careful),
    ("virtiofs", Careful),
    ("overlay", Careful),
    ("ceph", Careful),
    // With the name of the program behind it, `fuse.sshfs`.
    ("fuse", Careful),
    ("fuseblk", Careful),
    ("fusectl", Careful),
    ("btrfs", Note),
    ("zfs", Note),
    ("bcachefs", Note),
];

pub(super) const CHECKS: &[Check<DataPlace>] = &[
    Check {
        about: About {
            id: "file-system",
            worst: Spoils,
            why: "In memory nothing waits for a disk, over a network everything waits for it, and a copy-on-write file system scatters the pages of a table.",
            source: "MySQL manual, Optimizing InnoDB Disk I/O",
            mend: Mend::Words(
                "use ext4 or XFS on a local disk: server.directory in the study, or DYNO_CACHE_DIR=/path",
            ),
        },
        judge: |data| {
            let Some(name) = data.place.described.file_system.as_deref() else {
                return Seen::unseen("/proc/self/mountinfo: file system unknown");
            };
            let kind = name.split('.').next();
            let found = FILE_SYSTEMS.iter().find(|(known, _)| Some(*known) == kind);
            let seen = format!("/proc/self/mountinfo: {}", data.mount());
            graded(found.map(|(_, level)| *level), seen)
        },
    },
    Check {
        about: About {
            id: "mount-atime",
            worst: Careful,
            why: "Each read of a file also writes its access time.",
            source: "mount(8), strictatime",
            mend: Mend::Words("mount -o remount,noatime MOUNT"),
        },
        judge: |data| match data.option(&["noatime", "relatime", "ro"]) {
            Some(None) => data.found(Careful, "neither noatime nor relatime"),
            _ => data.with_options(&[], "access times are not always written"),
        },
    },
    Check {
        about: About {
            id: "mount-barrier",
            worst: Spoils,
            why: "Without barriers a flush does not reach the disk: commits are fast, but not durable.",
            source: "kernel docs, filesystems/ext4 (barrier)",
            mend: Mend::Words("mount -o remount,barrier=1 MOUNT"),
        },
        judge: |data| {
            let options = [("nobarrier", Spoils), ("barrier=0", Spoils)];
            data.with_options(&options, "barriers are on")
        },
    },
    Check {
        about: About {
            id: "mount-journal",
            worst: Careful,
            why: "With data=journal the file system writes everything twice, in addition to the server's doublewrite buffer.",
            source: "kernel docs, filesystems/ext4 (data=)",
            mend: Mend::Words("data=ordered in /etc/fstab, then unmount and mount it"),
        },
        judge: |data| {
            let options = [("data=journal", Careful), ("data=writeback", Note)];
            data.with_options(&options, "not data=journal")
        },
    },
    Check {
        about: About {
            id: "mount-discard",
            worst: Note,
            why: "When tables or data directories are dropped between trials, the disk erases their blocks while the next trial is measured.",
            source: "fstrim(8); MySQL on VMware ESX (Sun, VMware) (tables dropped and built before each run)",
            mend: Mend::Words("mount -o remount,nodiscard MOUNT, and run fstrim MOUNT once a week"),
        },
        judge: |data| {
            let options = [("discard", Note), ("discard=async", Note)];
            data.with_options(&options, "no discard")
        },
    },
    Check {
        about: About {
            id: "disk-free",
            worst: Spoils,
            why: "A full disk ends the study, and a nearly full one is slower.",
            source: "MySQL manual, How MySQL Handles a Full Disk",
            mend: Mend::Words("dyno clean --templates, or use another disk with DYNO_CACHE_DIR"),
        },
        judge: free,
    },
    Check {
        about: About {
            id: "io-scheduler",
            worst: Spoils,
            why: "A fair IO scheduler delays a database's requests: with CFQ AnandTech saw CPUs only 60-70 % busy; with deadline they were busy.",
            source: "OLTP Linux on ESX 3.5 (AnandTech) (deadline), MySQL on Optimus SSDs (SanDisk) (noop); kernel docs, block/switching-sched",
            mend: Mend::Words("echo SCHEDULER | tee FILES"),
        },
        judge: scheduler,
    },
    Check {
        about: About {
            id: "data-beside-system",
            worst: Careful,
            why: "Logs, swap and the files of all programs share the disk with the data.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (operating system and database on separate disks)",
            mend: Mend::Words(
                "use a separate disk for the data: server.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir",
            ),
        },
        judge: beside_system,
    },
    Check {
        about: About {
            id: "raid",
            worst: Spoils,
            why: "An array that is degraded or rebuilding is slower than usual, and software RAID takes CPU time from the server.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
            mend: Mend::Words("wait until the array is in sync: cat /proc/mdstat"),
        },
        judge: raid,
    },
    Check {
        about: About {
            id: "queue-depth",
            worst: Note,
            why: "With a short queue the disk works on few requests in parallel.",
            source: "MySQL on VMware ESX (Sun, VMware), best practices (queue depth 128); kernel docs, ABI/stable/sysfs-block (nr_requests)",
            mend: Mend::Words("echo NUMBER > FILE"),
        },
        judge: queue,
    },
];

impl DataPlace {
    fn mount_point(&self) -> &str {
        self.place.described.mount_point.as_deref().unwrap_or("/")
    }

    /// The file system and where it is mounted, for example `ext4 at /srv`.
    fn mount(&self) -> String {
        let system = self.place.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    /// The first of these options with which it is mounted; `None` if no options are known.
    fn option<'a>(&self, wanted: &[&'a str]) -> Option<Option<&'a str>> {
        let options = self.place.described.options.as_deref()?;
        let has = |wanted: &&&str| options.split(',').any(|option| option == **wanted);
        Some(wanted.iter().find(has).copied())
    }

    /// Whether it is mounted with an option that is a finding; `without` says that it is not.
    fn with_options(&self, findings: &[(&str, Level)], without: &str) -> Seen {
        let names: Vec<&str> = findings.iter().map(|(name, _)| *name).collect();
        match self.option(&names) {
            None => Seen::unseen("/proc/self/mountinfo: mount options unknown"),
            Some(None) => Seen::passed(format!("{}: {without}", self.mount())),
            Some(Some(option)) => {
                let found = findings.iter().find(|(name, _)| *name == option);
                self.found(found.map_or(Note, |(_, level)| *level), option)
            }
        }
    }

    fn found(&self, level: Level, what: &str) -> Seen {
        let seen = format!("{}: {what}", self.mount());
        Seen::found(level, seen).with("MOUNT", self.mount_point())
    }

    fn disks(&self) -> Vec<&str> {
        let disks = self.place.described.disks.iter();
        disks.map(|disk| disk.name.as_str()).collect()
    }

    fn no_disk(&self) -> Seen {
        Seen::unseen(format!("{}: no disk known to the kernel", self.mount()))
    }
}

fn free(data: &DataPlace) -> Seen {
    let (Some(free), Some(total)) = (data.place.free_bytes, data.place.total_bytes) else {
        return Seen::unseen("statvfs: free space unknown");
    };
    let needed = data.needed_bytes;
    let mut seen = format!("{} of {} free", shown_bytes(free), shown_bytes(total));
    if needed > 0 {
        seen.push_str(&format!("; the load needs {}", shown_bytes(needed)));
    }
    match free {
        _ if needed > free => Seen::spoils(seen),
        _ if free - needed < total / RESERVE => Seen::careful(seen),
        _ => Seen::passed(seen),
    }
}

fn scheduler(data: &DataPlace) -> Seen {
    let disks = data.place.described.disks.iter();
    let known = disks.filter_map(|disk| {
        let file = format!("/sys/block/{}/queue/scheduler", disk.name);
        Some((file, disk.scheduler.as_deref()?))
    });
    let known: Vec<(String, &str)> = known.collect();
    let shown = |known: &[(String, &str)]| {
        let known = known.iter().map(|(file, name)| format!("{file}: {name}"));
        known.collect::<Vec<_>>().join(", ")
    };
    if known.is_empty() {
        return data.no_disk();
    }
    let mut fair = known.clone();
    fair.retain(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    let better = match fair.first() {
        None => return Seen::passed(shown(&known)),
        Some((_, "bfq")) => "mq-deadline",
        // Of kernels before blk-mq, as its name is.
        Some(_) => "deadline",
    };
    let files: Vec<&str> = fair.iter().map(|(file, _)| file.as_str()).collect();
    Seen::spoils(shown(&fair))
        .with("SCHEDULER", better)
        .with("FILES", files.join(" "))
}

fn beside_system(data: &DataPlace) -> Seen {
    let disks = data.disks();
    if disks.is_empty() || data.system_disks.is_empty() {
        return data.no_disk();
    }
    let is_system = |disk: &&&str| data.system_disks.iter().any(|system| system == **disk);
    match disks.iter().find(is_system) {
        Some(disk) => Seen::careful(format!("{} is on {disk}, as is /", data.mount())),
        None => Seen::passed(format!(
            "{} is on {}, / on {}",
            data.mount(),
            disks.join(", "),
            data.system_disks.join(", ")
        )),
    }
}

fn raid(data: &DataPlace) -> Seen {
    let volumes = &data.place.volumes;
    let shown = |volume: &Volume| format!("/sys/block/{}: {}", volume.name, volume.level);
    let is_busy = |volume: &&Volume| volume.degraded > 0 || volume.action.is_some();
    if let Some(volume) = volumes.iter().find(is_busy) {
        let missing = || format!("missing disks: {}", volume.degraded);
        let state = volume.action.clone().unwrap_or_else(missing);
        return Seen::spoils(format!("{}, {state}", shown(volume)));
    }
    match (volumes.as_slice(), data.disks().as_slice()) {
        (_, []) => data.no_disk(),
        ([], _) => Seen::passed("/sys/block: no software RAID or logical volume"),
        (volumes, _) => Seen::note(volumes.iter().map(shown).collect::<Vec<_>>().join(", ")),
    }
}

fn queue(data: &DataPlace) -> Seen {
    let queues = &data.place.queues;
    let shown = |queue: &Queue| format!("{}: depth {}", queue.file, queue.depth);
    let Some(shortest) = queues.iter().min_by_key(|queue| queue.depth) else {
        return data.no_disk();
    };
    let short = queues.iter().filter(|queue| queue.depth < SHORT_QUEUE);
    let short: Vec<&Queue> = short.collect();
    if short.is_empty() {
        return Seen::passed(shown(shortest));
    }
    let seen: Vec<String> = short.iter().map(|queue| shown(queue)).collect();
    let mends: Vec<String> = short.iter().filter_map(|queue| lengthen(queue)).collect();
    Seen::note(seen.join(", ")).mended_by(match mends.is_empty() {
        true => "none: this is the device's maximum".to_owned(),
        false => mends.join("; "),
    })
}

/// The command that makes a queue longer, up to the device's limit, beyond which the kernel
/// refuses it.
fn lengthen(queue: &Queue) -> Option<String> {
    let depth = queue.max.unwrap_or(LONG_QUEUE).min(LONG_QUEUE);
    (depth > queue.depth).then(|| format!("echo {depth} > {}", queue.file))
}

#[cfg(test)]
mod tests {
    use host::Place;
    use measure::finding::Level::{Passed, Unseen};
    use measure::result::{self, Disk};

    use super::*;

    fn on(file_system: &str, options: &str, disks: &[(&str, &str)]) -> DataPlace {
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
        DataPlace {
            place: Place {
                described,
                free_bytes: Some(50),
                total_bytes: Some(100),
                queues: vec![made_queue("/nr_requests", 128, None)],
                ..Place::default()
            },
            system_disks: vec!["sda".into()],
            needed_bytes: 0,
        }
    }

    fn sound() -> DataPlace {
        on("ext4", "rw,noatime", &[("sdb", "mq-deadline")])
    }

    fn made_queue(file: &str, depth: u64, max: Option<u64>) -> Queue {
        Queue {
            file: file.into(),
            depth,
            max,
        }
    }

    fn judge(id: &str, data: &DataPlace) -> Level {
        let check = CHECKS.iter().find(|check| check.about.id == id);
        (check.unwrap().judge)(data).level()
    }

    #[test]
    fn a_disk_for_the_data_passes_and_no_disk_cannot_be_checked() {
        for check in CHECKS {
            let (id, judge) = (check.about.id, check.judge);
            assert_eq!(judge(&sound()).level(), Passed, "{id}");
            assert_eq!(judge(&DataPlace::default()).level(), Unseen, "{id}");
        }
    }

    #[test]
    fn file_systems() {
        for (name, level) in [
            ("tmpfs", Spoils),
            ("overlay", Careful),
            ("fuse.sshfs", Careful),
            ("fuseblk", Careful),
            ("nfs4", Careful),
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
        assert_eq!(with("rw,nobarrier"), [Careful, Spoils, Passed, Passed]);
        let barrier = [Passed, Spoils, Passed, Passed];
        assert_eq!(with("rw,noatime,barrier=0"), barrier);
        let journal = [Passed, Passed, Careful, Passed];
        assert_eq!(with("rw,noatime,data=journal"), journal);
        let both = [Passed, Passed, Note, Note];
        assert_eq!(with("rw,noatime,data=writeback,discard"), both);
        let data = on("ext4", "rw,nobarrier,noatime", &[]);
        let seen = Seen::spoils("ext4 at /srv: nobarrier").with("MOUNT", "/srv");
        assert_eq!((CHECKS[2].judge)(&data), seen);
    }

    #[test]
    fn room() {
        let needing = |needed_bytes| {
            free(&DataPlace {
                needed_bytes,
                ..sound()
            })
            .level()
        };
        let levels = [0, 40, 41, 51].map(needing);
        assert_eq!(levels, [Passed, Passed, Careful, Spoils]);
    }

    #[test]
    fn every_fair_scheduler_is_replaced() {
        let three = [("sdb", "none"), ("sdc", "bfq"), ("sdd", "bfq")];
        let (c, d) = (
            "/sys/block/sdc/queue/scheduler",
            "/sys/block/sdd/queue/scheduler",
        );
        assert_eq!(
            scheduler(&on("btrfs", "rw", &three)),
            Seen::spoils(format!("{c}: bfq, {d}: bfq"))
                .with("SCHEDULER", "mq-deadline")
                .with("FILES", format!("{c} {d}"))
        );
        let old = scheduler(&on("ext4", "rw", &[("sdc", "cfq")]));
        let replaced = Seen::spoils(format!("{c}: cfq"));
        let replaced = replaced.with("SCHEDULER", "deadline").with("FILES", c);
        assert_eq!(old, replaced);
        let other = on("ext4", "rw", &[("sdb", "kyber")]);
        assert_eq!(scheduler(&other).level(), Passed);
    }

    #[test]
    fn data_and_system_on_one_disk() {
        let shared = on("ext4", "rw", &[("sda", "none")]);
        assert_eq!(judge("data-beside-system", &shared), Careful);
    }

    #[test]
    fn arrays() {
        let with = |degraded, action: Option<&str>| {
            let mut data = sound();
            data.place.volumes = vec![Volume {
                name: "md0".into(),
                level: "raid10 of sda, sdb".into(),
                degraded,
                action: action.map(str::to_owned),
            }];
            raid(&data)
        };
        let seen = "/sys/block/md0: raid10 of sda, sdb";
        assert_eq!(with(0, None), Seen::note(seen));
        let missing = format!("{seen}, missing disks: 1");
        assert_eq!(with(1, None), Seen::spoils(missing));
        let resync = format!("{seen}, resync");
        assert_eq!(with(0, Some("resync")), Seen::spoils(resync));
    }

    #[test]
    fn a_queue_is_made_longer_in_its_own_file_and_up_to_its_limit() {
        let with = |queues: &[Queue]| {
            let mut data = sound();
            data.place.queues = queues.to_vec();
            queue(&data)
        };
        let long = made_queue("/long", 128, None);
        let scheduled = made_queue("/nr_requests", 16, None);
        let sata = made_queue("/queue_depth", 1, Some(32));
        let seen = "/nr_requests: depth 16, /queue_depth: depth 1";
        let mend = "echo 128 > /nr_requests; echo 32 > /queue_depth";
        assert_eq!(
            with(&[long, scheduled, sata]),
            Seen::note(seen).mended_by(mend)
        );
        let full = with(&[made_queue("/queue_depth", 31, Some(31))]);
        let seen = Seen::note("/queue_depth: depth 31");
        let none = "none: this is the device's maximum";
        assert_eq!(full, seen.mended_by(none));
    }
}
