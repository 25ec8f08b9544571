//! The facts about directories that hold data, or are going to, and the table of their checks.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::checks::Facts as ServerFacts;
use host::{RequestQueue, StackedDevice, Storage};
use measure::checks;
use measure::finding::Level::{self, Note, Passed, Severe, Warning};
use measure::finding::check::{
    Check, Judged, Observed, graded, note, passed, severe, unknown, warning,
};
use plan::shown_bytes;

use super::Subject;
use super::judges::joined;
use super::requirements::Requirements;

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DataStorage {
    pub(super) storage: Storage,
    pub(super) system_disks: Vec<String>,
    pub(super) disks: usize,
    /// Bytes that the load is going to store there.
    pub(super) needed_bytes: u64,
}

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
    "disk-free", Severe => free_space(data),
        why: "A full disk ends the study, and a nearly full disk is slower.",
        source: "mke2fs(8) (-m: reserved blocks reduce fragmentation)",
        remedy: Words("dyno clean --templates, or use another disk with DYNO_CACHE_DIR");
    "io-scheduler", Severe => scheduler(data),
        why: "A fair I/O scheduler delays a database's requests: in AnandTech's tests, CPUs were only 60-70 % busy with CFQ, but fully busy with deadline.",
        source: "AnandTech article (deadline), SanDisk paper (noop); kernel docs, block/switching-sched",
        remedy: Words("echo SCHEDULER | tee FILES");
    "data-beside-system", Warning => beside_system(data),
        why: "Logs, swap and program files share the disk with the data.",
        source: "Sun and VMware paper, best practices (operating system and database on separate disks)",
        remedy: Words("use a separate disk for the data: volume.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir");
    "raid", Severe => raid(data),
        why: "A degraded or rebuilding array is slower than usual, and software RAID takes CPU time from the server.",
        source: "Sun and VMware paper, best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
        remedy: Words("wait until the array is in sync: cat /proc/mdstat");
    "queue-depth", Note => queue(data),
        why: "With a short queue, the disk serves few requests in parallel.",
        source: "Sun and VMware paper, best practices (queue depth 128); kernel docs, ABI/stable/sysfs-block (nr_requests)",
        remedy: Words("echo NUMBER > FILE");
};

/// The given directories, and those where servers on this host store data or are going to.
pub(super) fn data_directories(
    subject: &Subject<'_>,
    servers: &[ServerFacts],
) -> Vec<(PathBuf, DataStorage)> {
    let named = subject.directories.iter().cloned();
    let running = servers.iter().filter_map(|server| server.data_dir.clone());
    let mut needed: BTreeMap<PathBuf, u64> = named.chain(running).map(|dir| (dir, 0)).collect();
    for trial in subject.trials_there() {
        if let Some(dir) = trial.data_directory() {
            let bytes = needed.entry(dir).or_default();
            let is_elsewhere = trial.is_elsewhere();
            let required = Requirements::at_once(trial, subject.trials, is_elsewhere);
            *bytes = required.disk_bytes.max(*bytes);
        }
        let log = trial.planned.topology.node.log_volume.as_ref();
        if let Some(directory) = log.and_then(|log| log.directory.as_ref()) {
            needed.entry(directory.value.clone()).or_default();
        }
    }
    let directories = needed.into_iter().map(|(path, needed_bytes)| {
        let data = DataStorage {
            storage: Storage::read(subject.files, &path),
            needed_bytes,
            ..DataStorage::default()
        };
        (path, data)
    });
    directories.collect()
}

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
    fn mount(&self) -> String {
        let system = self.storage.described.file_system.as_deref();
        format!("{} at {}", system.unwrap_or("?"), self.mount_point())
    }

    fn no_disk(&self) -> Observed {
        unknown(format!("{}: no disk known to the kernel", self.mount()))
    }

    fn options(&self) -> Result<Vec<&str>, Observed> {
        let unknown = || unknown("/proc/self/mountinfo: mount options unknown");
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
        graded(level, format!("{}: {what}", self.mount())).with("MOUNT", self.mount_point())
    }
}

fn file_system(data: &DataStorage) -> Observed {
    let Some(name) = data.storage.described.file_system.as_deref() else {
        return unknown("/proc/self/mountinfo: file system unknown");
    };
    let kind = name.split('.').next().unwrap_or(name);
    let found = FILE_SYSTEMS.iter().find(|(_, names)| names.contains(&kind));
    let level = found.map_or(Passed, |(level, _)| *level);
    graded(level, format!("/proc/self/mountinfo: {}", data.mount()))
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

fn free_space(data: &DataStorage) -> Observed {
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

/// A shorter queue keeps a disk from serving requests in parallel.
const SHORT_QUEUE: u64 = 32;
/// The depth that the remedy sets.
const LONG_QUEUE: u64 = 128;

fn scheduler(data: &DataStorage) -> Observed {
    let disks = data.storage.described.disks.iter();
    let known = disks.filter_map(|disk| {
        let file = format!("/sys/block/{}/queue/scheduler", disk.name);
        Some((file, disk.scheduler.as_deref()?))
    });
    let (fair, others): (Vec<_>, Vec<_>) =
        known.partition(|(_, name)| ["cfq", "bfq", "anticipatory"].contains(name));
    let shown = |(file, name): &(String, &str)| format!("{file}: {name}");
    let better = match fair.first() {
        None if others.is_empty() => return data.no_disk(),
        None => return passed(joined(&others, shown)),
        Some((_, "bfq")) => "mq-deadline",
        // The schedulers of kernels before blk-mq have names without `mq-`.
        Some(_) => "deadline",
    };
    let files: Vec<&str> = fair.iter().map(|(file, _)| file.as_str()).collect();
    severe(joined(&fair, shown))
        .with("SCHEDULER", better)
        .with("FILES", files.join(" "))
}

fn beside_system(data: &DataStorage) -> Observed {
    let (disks, system) = (&data.storage.described.disks, &data.system_disks);
    if disks.is_empty() || system.is_empty() {
        return data.no_disk();
    }
    let mount = data.mount();
    let Some(disk) = disks.iter().find(|disk| system.contains(&disk.name)) else {
        let disks = joined(disks, |disk| disk.name.clone());
        return passed(format!("{mount} is on {disks}, / on {}", system.join(", ")));
    };
    let observed = format!("{mount} and / are both on {}", disk.name);
    match data.disks {
        1 => note(format!("{observed}, the only disk")),
        _ => warning(observed),
    }
}

fn raid(data: &DataStorage) -> Observed {
    let stacked = &data.storage.stacked;
    let shown = |device: &StackedDevice| format!("/sys/block/{}: {}", device.name, device.level);
    let is_busy = |device: &&StackedDevice| device.degraded > 0 || device.action.is_some();
    if let Some(device) = stacked.iter().find(is_busy) {
        let missing = || format!("missing disks: {}", device.degraded);
        let state = device.action.clone().unwrap_or_else(missing);
        return severe(format!("{}, {state}", shown(device)));
    }
    match stacked.as_slice() {
        _ if data.storage.described.disks.is_empty() => data.no_disk(),
        [] => passed("/sys/block: no software RAID or logical volume"),
        stacked => note(joined(stacked, shown)),
    }
}

fn queue(data: &DataStorage) -> Observed {
    let queues = &data.storage.queues;
    let shown = |queue: &RequestQueue| format!("{}: depth {}", queue.file, queue.depth);
    let Some(shortest) = queues.iter().min_by_key(|queue| queue.depth) else {
        return data.no_disk();
    };
    if shortest.depth >= SHORT_QUEUE {
        return passed(shown(shortest));
    }
    let mut short = queues.clone();
    short.retain(|queue| queue.depth < SHORT_QUEUE);
    let commands: Vec<String> = short.iter().filter_map(lengthen).collect();
    note(joined(&short, shown)).with_remedy(match commands.is_empty() {
        true => "none: this is the device's maximum".to_owned(),
        false => commands.join("; "),
    })
}

/// The command that lengthens a queue, up to the maximum depth that the kernel accepts.
fn lengthen(queue: &RequestQueue) -> Option<String> {
    let depth = queue.max.unwrap_or(LONG_QUEUE).min(LONG_QUEUE);
    (depth > queue.depth).then(|| format!("echo {depth} > {}", queue.file))
}
