//! Block devices: which are below a directory, and which are below other devices.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{Files, entries, name};
use crate::mounts;

/// Where the kernel lists block devices by name.
pub(crate) const BLOCK_DEVICES: &str = "/sys/block";

/// Block devices and everything below them.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct DeviceStack {
    /// Devices built from others: LVM, LUKS, md.
    pub(crate) stacked: Vec<String>,
    /// The disks at the bottom.
    pub(crate) disks: Vec<String>,
}

/// The names of the block devices directly below `dir`, with whole disks in place of partitions;
/// empty if its file system has no block device (tmpfs, overlay, network). These are the names
/// in `/proc/diskstats`.
pub fn below_dir(files: &dyn Files, dir: &Path) -> Vec<String> {
    let Ok(dir) = files.resolve(dir) else {
        return Vec::new();
    };
    let space = files.space(&dir).ok();
    let disk = space.and_then(|space| numbered(files, space.device));
    disk.map_or_else(|| mounted(files, &dir), |disk| vec![disk])
}

/// `devices` and everything below them.
pub(crate) fn stack(files: &dyn Files, devices: &[String]) -> DeviceStack {
    let mut stack = DeviceStack::default();
    let mut visited = BTreeSet::new();
    let mut pending = devices.to_vec();
    while let Some(device) = pending.pop() {
        // Ends cycles, too.
        if !visited.insert(device.clone()) {
            continue;
        }
        let parts = parts(files, &device);
        let parts = parts.iter().filter_map(|part| whole_disk(files, part));
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => stack.disks.push(device),
            false => stack.stacked.push(device),
        }
        pending.extend(parts);
    }
    stack.stacked.sort();
    stack.disks.sort();
    stack
}

/// Number of disks of a machine: block devices with hardware, except drives for removable media.
pub fn disks(files: &dyn Files) -> usize {
    let is_disk = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_removable = name.starts_with("sr") || name.starts_with("fd");
        !is_removable && !entries(files, path.join("device")).is_empty()
    };
    let devices = entries(files, BLOCK_DEVICES);
    devices.iter().filter(|path| is_disk(path)).count()
}

/// The sysfs directories of the devices from which a device is built.
pub(crate) fn parts(files: &dyn Files, device: &str) -> Vec<PathBuf> {
    entries(files, Path::new(BLOCK_DEVICES).join(device).join("slaves"))
}

/// The disk with a device number; `None` if the number belongs to a file system with no block
/// device or with several.
fn numbered(files: &dyn Files, device: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    whole_disk(files, Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// The name of a block device, or of the disk if it is a partition. `device` is its directory in
/// sysfs, where a partition is a subdirectory of its disk.
fn whole_disk(files: &dyn Files, device: &Path) -> Option<String> {
    let device = files.resolve(device).ok()?;
    let disk = match files.read(&device.join("partition")) {
        Ok(_) => device.parent()?,
        Err(_) => &device,
    };
    name(disk).map(str::to_owned)
}

/// The disks below the mounted device. Needed for btrfs, whose device number belongs to no block
/// device and which may span several.
fn mounted(files: &dyn Files, dir: &Path) -> Vec<String> {
    let mounts = mounts::all(files);
    let mount = mounts::containing(&mounts, dir).filter(|mount| mount.source.starts_with("/dev/"));
    let device = mount.and_then(|mount| files.resolve(Path::new(&mount.source)).ok());
    let device = device.as_deref().and_then(name);
    let device = device.map(|name| Path::new("/sys/class/block").join(name));
    let Some(disk) = device.and_then(|device| whole_disk(files, &device)) else {
        return Vec::new();
    };
    let pool = btrfs_pools(files)
        .into_iter()
        .find(|pool| pool.contains(&disk));
    pool.map_or_else(|| vec![disk], |pool| pool.into_iter().collect())
}

/// The disks of each btrfs file system.
fn btrfs_pools(files: &dyn Files) -> Vec<BTreeSet<String>> {
    let disks = |pool: &PathBuf| {
        let devices = entries(files, pool.join("devices"));
        let disks = devices
            .iter()
            .filter_map(|device| whole_disk(files, device));
        disks.collect()
    };
    entries(files, "/sys/fs/btrfs").iter().map(disks).collect()
}

/// Block devices of a test.
#[cfg(test)]
pub(crate) mod testing {
    use super::BLOCK_DEVICES;
    use crate::files::testing::TestMachine;

    impl TestMachine {
        /// Writes files of a device or of `disk/partition`, as [`TestMachine::write_all`] does.
        pub(crate) fn device(&self, name: &str, files: &str) {
            self.write_all(&format!("{BLOCK_DEVICES}/{name}/"), files);
        }

        /// Creates a device built from other ones, each given as a device or `disk/partition`.
        pub(crate) fn stacked_device(&self, name: &str, parts: &[&str]) {
            for part in parts {
                self.device(part, "size 1");
                let link = part.rsplit('/').next().unwrap();
                self.link(
                    &format!("{BLOCK_DEVICES}/{name}/slaves/{link}"),
                    &format!("{BLOCK_DEVICES}/{part}"),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::LOCAL;
    use crate::files::testing::TestMachine;

    const PARTITION: &str = "partition 2";

    fn below(machine: &TestMachine, device: &str) -> (Vec<String>, Vec<String>) {
        let stack = stack(&machine.files, &[device.to_owned()]);
        (stack.stacked, stack.disks)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_partition_is_reported_as_its_disk() {
        let machine = TestMachine::with(&[]);
        machine.device("sda/sda1", PARTITION);
        machine.link("/sys/dev/block/8:1", "/sys/block/sda/sda1");
        let disk = numbered(&machine.files, rustix::fs::makedev(8, 1));
        assert_eq!(disk.as_deref(), Some("sda"));
        assert_eq!(numbered(&machine.files, rustix::fs::makedev(8, 2)), None);
    }

    #[test]
    fn stacked_devices_have_disks_below_them() {
        let machine = TestMachine::with(&[]);
        machine.device("sda/sda2", PARTITION);
        machine.device("nvme0n1/nvme0n1p2", PARTITION);
        // An LVM volume on a partition.
        machine.stacked_device("dm-0", &["sda/sda2"]);
        let disk = (names(&["dm-0"]), names(&["sda"]));
        assert_eq!(below(&machine, "dm-0"), disk);
        // A mirror of two partitions, LUKS on it, and an LVM volume on that.
        machine.stacked_device("md0", &["sda/sda2", "nvme0n1/nvme0n1p2"]);
        machine.stacked_device("dm-1", &["md0"]);
        machine.stacked_device("dm-2", &["dm-1"]);
        let (stacked, disks) = below(&machine, "dm-2");
        assert_eq!(stacked, ["dm-1", "dm-2", "md0"]);
        assert_eq!(disks, ["nvme0n1", "sda"]);
        // There is nothing below a disk.
        assert_eq!(below(&machine, "sda"), (vec![], names(&["sda"])));
    }

    #[test]
    fn a_cycle_ends() {
        let machine = TestMachine::with(&[]);
        machine.stacked_device("dm-0", &["dm-1"]);
        machine.stacked_device("dm-1", &["dm-0"]);
        let all = names(&["dm-0", "dm-1"]);
        assert_eq!(below(&machine, "dm-0"), (all, vec![]));
    }

    #[test]
    fn a_btrfs_pool_has_several_disks() {
        let mount = "28 27 0:40 / / rw,noatime - btrfs /dev/mapper/data rw\n";
        let machine = TestMachine::with(&[("/proc/self/mountinfo", mount), ("/dev/dm-0", "")]);
        machine.link("/dev/mapper/data", "/dev/dm-0");
        machine.device("dm-0", "size 1");
        machine.device("sdb", "size 1");
        for disk in ["dm-0", "sdb"] {
            let device = format!("/sys/block/{disk}");
            machine.link(&format!("/sys/class/block/{disk}"), &device);
            machine.link(&format!("/sys/fs/btrfs/id/devices/{disk}"), &device);
        }
        assert_eq!(mounted(&machine.files, Path::new("/srv")), ["dm-0", "sdb"]);
    }

    #[test]
    fn a_file_system_without_a_disk_has_no_devices() {
        for dir in ["/proc", "/dev/shm", "/no/such/directory"] {
            let disks = below_dir(&LOCAL, Path::new(dir));
            assert_eq!(disks, Vec::<String>::new(), "{dir}");
        }
    }
}
