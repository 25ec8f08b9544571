//! The storage below a directory: its file system, its disks, and the devices between them.

use std::path::{Path, PathBuf};

use measure::result::{self, Disk};

use crate::device::{self, BLOCK_DEVICES};
use crate::files::{Files, line, name, number, selected};
use crate::mounts;

/// The kernel counts in sectors of this size, whatever the disk's sector size is.
const SECTOR_BYTES: u64 = 512;

/// The storage below a directory. If the directory does not exist yet, below its nearest
/// existing ancestor.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Storage {
    /// The part that results store: the file system, and the disks below all stacked devices.
    pub described: result::Place,
    /// Free space for unprivileged users, in bytes.
    pub free_bytes: Option<u64>,
    pub total_bytes: Option<u64>,
    /// Names of all block devices below the directory: disks, then stacked devices.
    pub devices: Vec<String>,
    pub queues: Vec<RequestQueue>,
    pub stacked: Vec<StackedDevice>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestQueue {
    /// The file that sets the depth.
    pub file: String,
    /// Maximum number of outstanding requests.
    pub depth: u64,
    /// The highest value that the kernel accepts for the depth, if known.
    pub max: Option<u64>,
}

/// A block device that the kernel builds from others: software RAID (md), LVM, LUKS.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StackedDevice {
    /// The kernel's name, for example `md0`.
    pub name: String,
    /// RAID level and parts, for example `raid10 of sda, sdb`.
    pub level: String,
    pub degraded: u64,
    /// The running maintenance operation, for example `resync`.
    pub action: Option<String>,
}

impl Storage {
    pub fn read(files: &dyn Files, path: &Path) -> Self {
        let real = existing(files, path);
        let real = real.as_deref();
        let mounts = mounts::all(files);
        let mount = real.and_then(|real| mounts::containing(&mounts, real));
        let space = real.and_then(|real| files.space(real).ok());
        let devices = real.map(|real| device::below_dir(files, real));
        let mut storage = Self::of_devices(files, &devices.unwrap_or_default());
        storage.free_bytes = space.map(|space| space.free_bytes);
        storage.total_bytes = space.map(|space| space.total_bytes);
        storage.described = result::Place {
            path: path.display().to_string(),
            mount_point: mount.map(|mount| mount.point.display().to_string()),
            file_system: mount.map(|mount| mount.file_system.clone()),
            source: mount.map(|mount| mount.source.clone()),
            options: mount.map(|mount| mount.options.clone()),
            ..storage.described
        };
        storage
    }

    fn of_devices(files: &dyn Files, devices: &[String]) -> Self {
        let stack = device::stack(files, devices);
        let disks = stack.disks.iter();
        Self {
            queues: disks
                .clone()
                .filter_map(|disk| queue(files, disk))
                .collect(),
            stacked: stack
                .stacked
                .iter()
                .map(|name| stacked_device(files, name))
                .collect(),
            devices: disks.clone().chain(&stack.stacked).cloned().collect(),
            described: result::Place {
                disks: disks.map(|name| disk(files, name)).collect(),
                ..result::Place::default()
            },
            ..Self::default()
        }
    }

    /// Whether all disks rotate; `None` if one does not report it or they differ.
    pub fn is_rotational(&self) -> Option<bool> {
        let mut known = self.described.disks.iter().map(|disk| disk.rotational);
        let first = known.next()??;
        known.all(|other| other == Some(first)).then_some(first)
    }
}

/// The path, or its nearest existing ancestor, without symbolic links.
fn existing(files: &dyn Files, path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|path| files.resolve(path).ok())
}

fn dir_of(device: &str) -> PathBuf {
    Path::new(BLOCK_DEVICES).join(device)
}

fn disk(files: &dyn Files, name: &str) -> Disk {
    let file = |file: &str| dir_of(name).join(file);
    // Virtual disks report that they rotate, whatever is below them.
    let is_virtual = name.starts_with("vd") || name.starts_with("xvd");
    Disk {
        name: name.to_owned(),
        model: line(files, file("device/model")),
        bytes: number(files, file("size")).and_then(|size| size.checked_mul(SECTOR_BYTES)),
        scheduler: line(files, file("queue/scheduler")).map(selected),
        rotational: number(files, file("queue/rotational"))
            .map(|rotates| rotates != 0)
            .filter(|rotates| !(*rotates && is_virtual)),
        cache: line(files, file("queue/write_cache")),
    }
}

/// The queue of the disk's driver if it has one, else the kernel's.
fn queue(files: &dyn Files, disk: &str) -> Option<RequestQueue> {
    let disk = dir_of(disk);
    let own = disk.join("device/queue_depth");
    let (file, depth, max) = match number(files, &own) {
        Some(depth) => (own, depth, controller_queue(files, &disk)),
        None => {
            let file = disk.join("queue/nr_requests");
            let depth = number(files, &file)?;
            (file, depth, unscheduled_queue(files, &disk, depth))
        }
    };
    Some(RequestQueue {
        file: file.display().to_string(),
        depth,
        max,
    })
}

/// Without an I/O scheduler, the kernel rejects a depth above the device's number of tags:
/// `mq/0/nr_tags`, or the current depth if that is unknown.
fn unscheduled_queue(files: &dyn Files, disk: &Path, depth: u64) -> Option<u64> {
    let scheduler = line(files, disk.join("queue/scheduler")).map(selected);
    let tags = || number(files, disk.join("mq/0/nr_tags"));
    (scheduler? == "none").then(|| tags().unwrap_or(depth))
}

/// The queue of a disk's SCSI controller: `host0/scsi_host/host0/can_queue`.
fn controller_queue(files: &dyn Files, disk: &Path) -> Option<u64> {
    let device = files.resolve(&disk.join("device")).ok()?;
    device.ancestors().find_map(|dir| {
        let host = dir.join("scsi_host").join(name(dir)?);
        number(files, host.join("can_queue"))
    })
}

fn stacked_device(files: &dyn Files, device: &str) -> StackedDevice {
    let dir = dir_of(device);
    let parts = device::parts(files, device);
    let parts: Vec<&str> = parts.iter().filter_map(|part| name(part)).collect();
    let level = line(files, dir.join("md/level"));
    let level = level.as_deref().unwrap_or("volume");
    StackedDevice {
        name: device.to_owned(),
        level: format!("{level} of {}", parts.join(", ")),
        degraded: number(files, dir.join("md/degraded")).unwrap_or(0),
        action: line(files, dir.join("md/sync_action")).filter(|action| action != "idle"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::LOCAL;
    use crate::files::testing::TestMachine;

    fn on(machine: &TestMachine, device: &str) -> Storage {
        Storage::of_devices(&machine.files, &[device.to_owned()])
    }

    #[test]
    fn a_stacked_device_is_described_by_its_disk() {
        let machine = TestMachine::with(&[]);
        machine.device("dm-1", "queue/scheduler [none]");
        machine.device("sda/sda2", "partition 2");
        machine.stacked_device("dm-1", &["sda/sda2"]);
        machine.device(
            "sda",
            "queue/scheduler mq-deadline [bfq] none
             queue/rotational 1
             queue/nr_requests 64
             device/queue_depth 1
             device/model ST4000NM",
        );
        let storage = on(&machine, "dm-1");
        let disk = Disk {
            name: "sda".into(),
            model: Some("ST4000NM".into()),
            scheduler: Some("bfq".into()),
            rotational: Some(true),
            ..Disk::default()
        };
        assert_eq!(storage.described.disks, [disk]);
        assert_eq!(storage.is_rotational(), Some(true));
        assert_eq!(storage.devices, ["sda", "dm-1"]);
        assert_eq!(storage.stacked[0].level, "volume of sda2");
        let queue = &storage.queues[0];
        assert_eq!(queue.file, "/sys/block/sda/device/queue_depth");
        assert_eq!((queue.depth, queue.max), (1, None));
    }

    #[test]
    fn an_array_below_another_device_is_found() {
        let machine = TestMachine::with(&[]);
        machine.device("md0", "md/level raid1\nmd/degraded 1");
        machine.stacked_device("md0", &["sda", "sdb"]);
        machine.stacked_device("dm-0", &["md0"]);
        let storage = on(&machine, "dm-0");
        assert_eq!(storage.devices, ["sda", "sdb", "dm-0", "md0"]);
        let array = &storage.stacked[1];
        let expected = ("raid1 of sda, sdb", 1);
        assert_eq!((array.level.as_str(), array.degraded), expected);
    }

    #[test]
    fn maximum_depth_of_a_queue() {
        let machine = TestMachine::with(&[]);
        let max = |disk: &str, files: &str| {
            machine.device(disk, "queue/nr_requests 16");
            machine.device(disk, files);
            queue(&machine.files, disk).unwrap().max
        };
        let scheduled = "queue/scheduler none [mq-deadline]\nmq/0/nr_tags 16";
        assert_eq!(max("nvme0n1", scheduled), None);
        let unscheduled = "queue/scheduler [none] mq-deadline\nmq/0/nr_tags 64";
        assert_eq!(max("nvme1n1", unscheduled), Some(64));
        assert_eq!(max("nvme2n1", "queue/scheduler none"), Some(16));
        // The controller limits the queues of its disks.
        let host = "/sys/devices/host0";
        machine.write(&format!("{host}/scsi_host/host0/can_queue"), "32\n");
        machine.write(&format!("{host}/target0/0/queue_depth"), "1\n");
        machine.link("/sys/block/sda/device", &format!("{host}/target0/0"));
        let queue = queue(&machine.files, "sda").unwrap();
        assert_eq!((queue.depth, queue.max), (1, Some(32)));
    }

    #[test]
    fn a_directory_without_a_disk_and_one_that_does_not_exist() {
        let proc = Storage::read(&LOCAL, Path::new("/proc")).described;
        assert_eq!(proc.file_system.as_deref(), Some("proc"));
        assert_eq!(proc.disks, []);
        let none = Storage::read(&LOCAL, Path::new("/there/is/none"));
        assert_eq!(none.described.path, "/there/is/none");
        assert_eq!(none.described.mount_point.as_deref(), Some("/"));
        assert!(none.free_bytes > Some(0) && none.total_bytes >= none.free_bytes);
    }
}
