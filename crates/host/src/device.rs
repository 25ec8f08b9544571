//! Block devices: which of them hold a directory, and what they are made of.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::files::{Files, entries, name};
use crate::mounts;

/// Where the kernel lists block devices by name.
pub(crate) const BLOCK_DEVICES: &str = "/sys/block";

/// What lies below block devices.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Devices that are made of others: LVM, LUKS, md.
    pub(crate) volumes: Vec<String>,
    /// The disks that all of them lie on.
    pub(crate) disks: Vec<String>,
}

/// The names of the block devices that hold `dir`, partitions as their disks; none if its
/// file system has no disk of its own (tmpfs, overlay, network). The kernel's counters have
/// these names: those of a volume count what the volume does.
#[must_use]
pub fn holding(files: &dyn Files, dir: &Path) -> Vec<String> {
    let Ok(dir) = files.resolve(dir) else {
        return Vec::new();
    };
    let space = files.space(&dir).ok();
    let disk = space.and_then(|space| numbered(files, space.device));
    disk.map_or_else(|| mounted(files, &dir), |disk| vec![disk])
}

/// Everything below `devices`, themselves included.
pub(crate) fn layers(files: &dyn Files, devices: &[String]) -> Layers {
    let mut layers = Layers::default();
    let mut seen = BTreeSet::new();
    let mut open = devices.to_vec();
    // Each device is visited once, so a cycle ends.
    while let Some(device) = open.pop() {
        if !seen.insert(device.clone()) {
            continue;
        }
        let parts = parts(files, &device);
        let parts = parts.iter().filter_map(|part| whole_disk(files, part));
        let parts: Vec<String> = parts.collect();
        match parts.is_empty() {
            true => layers.disks.push(device),
            false => layers.volumes.push(device),
        }
        open.extend(parts);
    }
    layers.volumes.sort();
    layers.disks.sort();
    layers
}

/// The directories of the devices that a volume is made of.
pub(crate) fn parts(files: &dyn Files, device: &str) -> Vec<PathBuf> {
    entries(files, Path::new(BLOCK_DEVICES).join(device).join("slaves"))
}

/// The disk with a device number; `None` for the numbers of file systems without a device of
/// their own, or with several.
fn numbered(files: &dyn Files, device: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    whole_disk(files, Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// `device` is a block device's directory in sysfs; that of a partition is in its disk's.
fn whole_disk(files: &dyn Files, device: &Path) -> Option<String> {
    let device = files.resolve(device).ok()?;
    let disk = match files.read(&device.join("partition")) {
        Ok(_) => device.parent()?,
        Err(_) => &device,
    };
    name(disk).map(str::to_owned)
}

/// By what is mounted: btrfs has several devices and a number of its own.
fn mounted(files: &dyn Files, dir: &Path) -> Vec<String> {
    let mounts = mounts::all(files);
    let mount = mounts::holding(&mounts, dir).filter(|mount| mount.source.starts_with("/dev/"));
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

/// Block devices that a test makes.
#[cfg(test)]
pub(crate) mod made {
    use super::BLOCK_DEVICES;
    use crate::files::made::Machine;

    impl Machine {
        /// Writes files of a device, or of `disk/partition`.
        pub(crate) fn device(&self, name: &str, files: &[(&str, &str)]) {
            for (file, text) in files {
                self.write(&format!("{BLOCK_DEVICES}/{name}/{file}"), text);
            }
        }

        /// Makes a volume of others, each a device or `disk/partition`.
        pub(crate) fn volume(&self, name: &str, parts: &[&str]) {
            for part in parts {
                self.device(part, &[("size", "1\n")]);
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
    use crate::files::made::Machine;

    const PARTITION: [(&str, &str); 1] = [("partition", "2")];

    fn below(machine: &Machine, device: &str) -> (Vec<String>, Vec<String>) {
        let layers = layers(&machine.files, &[device.to_owned()]);
        (layers.volumes, layers.disks)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_partition_is_its_disk() {
        let machine = Machine::with(&[]);
        machine.device("sda/sda1", &PARTITION);
        machine.link("/sys/dev/block/8:1", "/sys/block/sda/sda1");
        let disk = numbered(&machine.files, rustix::fs::makedev(8, 1));
        assert_eq!(disk.as_deref(), Some("sda"));
        assert_eq!(numbered(&machine.files, rustix::fs::makedev(8, 2)), None);
    }

    #[test]
    fn volumes_and_arrays_lie_on_disks() {
        let machine = Machine::with(&[]);
        machine.device("sda/sda2", &PARTITION);
        machine.device("nvme0n1/nvme0n1p2", &PARTITION);
        // A volume of LVM on a partition.
        machine.volume("dm-0", &["sda/sda2"]);
        let disk = (names(&["dm-0"]), names(&["sda"]));
        assert_eq!(below(&machine, "dm-0"), disk);
        // A mirror of two partitions, LUKS on it, and a volume of LVM on that.
        machine.volume("md0", &["sda/sda2", "nvme0n1/nvme0n1p2"]);
        machine.volume("dm-1", &["md0"]);
        machine.volume("dm-2", &["dm-1"]);
        let (volumes, disks) = below(&machine, "dm-2");
        assert_eq!(volumes, ["dm-1", "dm-2", "md0"]);
        assert_eq!(disks, ["nvme0n1", "sda"]);
        // A disk is made of nothing.
        assert_eq!(below(&machine, "sda"), (vec![], names(&["sda"])));
    }

    #[test]
    fn a_cycle_ends() {
        let machine = Machine::with(&[]);
        machine.volume("dm-0", &["dm-1"]);
        machine.volume("dm-1", &["dm-0"]);
        let all = names(&["dm-0", "dm-1"]);
        assert_eq!(below(&machine, "dm-0"), (all, vec![]));
    }

    #[test]
    fn a_pool_of_btrfs_has_several_disks() {
        let mount = "28 27 0:40 / / rw,noatime - btrfs /dev/mapper/data rw\n";
        let machine = Machine::with(&[("/proc/self/mountinfo", mount), ("/dev/dm-0", "")]);
        machine.link("/dev/mapper/data", "/dev/dm-0");
        machine.device("dm-0", &[("size", "1")]);
        machine.device("sdb", &[("size", "1")]);
        for disk in ["dm-0", "sdb"] {
            let device = format!("/sys/block/{disk}");
            machine.link(&format!("/sys/class/block/{disk}"), &device);
            machine.link(&format!("/sys/fs/btrfs/id/devices/{disk}"), &device);
        }
        assert_eq!(mounted(&machine.files, Path::new("/srv")), ["dm-0", "sdb"]);
    }

    #[test]
    fn what_has_no_disk_is_absent() {
        for place in ["/proc", "/dev/shm", "/there/is/no/such/place"] {
            let disks = holding(&LOCAL, Path::new(place));
            assert_eq!(disks, Vec::<String>::new(), "{place}");
        }
    }
}
