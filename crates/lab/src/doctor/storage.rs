//! The facts about directories that hold data, or are going to.

use std::collections::BTreeMap;
use std::path::PathBuf;

use engine::checks::Facts as ServerFacts;
use host::Storage;
use measure::checks;
use measure::finding::Level::{Note, Severe, Warning};
use measure::finding::check::Check;

use super::requirements::Requirements;
use super::{Subject, disk, file_system};
use crate::trial::{Target, Trial};

#[derive(Debug, Clone, PartialEq, Default)]
pub(super) struct DataStorage {
    pub(super) storage: Storage,
    /// Disks that hold the operating system.
    pub(super) system_disks: Vec<String>,
    pub(super) disks: usize,
    /// Bytes that the load is going to store there.
    pub(super) needed_bytes: u64,
}

pub(super) const CHECKS: &[Check<DataStorage>] = checks! { data:
    "file-system", Severe => file_system::file_system(data),
        why: "A file system in memory never waits for a disk, a network file system always waits for the network, and a copy-on-write file system fragments tables.",
        source: "tmpfs(5), nfs(5), btrfs(5)",
        remedy: Words("use ext4 or XFS on a local disk: volume.directory in the study, or DYNO_CACHE_DIR=/path");
    "mount-atime", Warning => file_system::access_times(data),
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
    "disk-free", Severe => file_system::free(data),
        why: "A full disk ends the study, and a nearly full disk is slower.",
        source: "mke2fs(8) (-m: reserved blocks reduce fragmentation)",
        remedy: Words("dyno clean --templates, or use another disk with DYNO_CACHE_DIR");
    "io-scheduler", Severe => disk::scheduler(data),
        why: "A fair I/O scheduler delays a database's requests: in AnandTech's tests, CPUs were only 60-70 % busy with CFQ, but fully busy with deadline.",
        source: "AnandTech article (deadline), SanDisk paper (noop); kernel docs, block/switching-sched",
        remedy: Words("echo SCHEDULER | tee FILES");
    "data-beside-system", Warning => disk::beside_system(data),
        why: "Logs, swap and program files share the disk with the data.",
        source: "Sun and VMware paper, best practices (operating system and database on separate disks)",
        remedy: Words("use a separate disk for the data: volume.directory in the study, DYNO_CACHE_DIR=/path, or the server's datadir");
    "raid", Severe => disk::raid(data),
        why: "A degraded or rebuilding array is slower than usual, and software RAID takes CPU time from the server.",
        source: "Sun and VMware paper, best practices (hardware RAID, 0+1); kernel docs, admin-guide/md",
        remedy: Words("wait until the array is in sync: cat /proc/mdstat");
    "queue-depth", Note => disk::queue(data),
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
    for trial in subject.trials {
        if let Some(dir) = data_directory(trial) {
            let bytes = needed.entry(dir).or_default();
            *bytes = Requirements::of(trial).disk_bytes.max(*bytes);
        }
        let log = trial.planned.topology.node.log_volume.as_ref();
        if let Some(directory) = log.and_then(plan::Volume::directory) {
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

/// The directory of the data that a trial loads.
pub(super) fn data_directory(trial: &Trial) -> Option<PathBuf> {
    let cache = || crate::home::place().ok();
    match &trial.target {
        Target::Given(database) => database.file().map(ToOwned::to_owned),
        Target::Temporary(_) => cache(),
        Target::Private(_) => match trial.planned.topology.node.volume.directory() {
            Some(directory) => Some(directory.value.clone()),
            None => cache(),
        },
    }
}
