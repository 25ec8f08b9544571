//! Which disks hold a directory.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::mounts;

/// Where the kernel tells of block devices, each by its name.
pub(crate) const BLOCK_DEVICES: &str = "/sys/block";

/// What block devices are made of.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Layers {
    /// Those that the kernel puts together from others: LVM, LUKS, md.
    pub(crate) assembled: Vec<String>,
    /// The disks that all of them lie on in the end.
    pub(crate) disks: Vec<String>,
}

/// The kernel's names of the block devices that `dir` lies on, as whole ones; none when its
/// file system has no disk of its own (tmpfs, overlay, network). Counters go by these
/// names: that of a volume counts what the volume does, and `layers` tells what is below.
pub(crate) fn disks_under(dir: &Path) -> Vec<String> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let Ok(meta) = dir.metadata() else {
        return Vec::new();
    };
    disk_of(meta.dev()).map_or_else(|| mounted_disks(&dir), |disk| vec![disk])
}

/// Everything below `devices`, from themselves to the disks; `all` is `BLOCK_DEVICES`.
pub(crate) fn layers(all: &Path, devices: &[String]) -> Layers {
    let mut layers = Layers::default();
    let mut seen = BTreeSet::new();
    let mut open = devices.to_vec();
    // Each device is looked at once, so this ends whatever lies on what.
    while let Some(device) = open.pop() {
        if !seen.insert(device.clone()) {
            continue;
        }
        let parts = entries(&all.join(&device).join("slaves"));
        let parts: Vec<String> = parts.iter().filter_map(|part| whole_disk(part)).collect();
        match parts.is_empty() {
            true => layers.disks.push(device),
            false => layers.assembled.push(device),
        }
        open.extend(parts);
    }
    layers.assembled.sort();
    layers.disks.sort();
    layers
}

/// The whole disk of a device number; `None` for the numbers that a file system
/// without a device, or with several, makes up.
fn disk_of(device: u64) -> Option<String> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    whole_disk(Path::new(&format!("/sys/dev/block/{major}:{minor}")))
}

/// `device` is a block device's directory in sysfs; a partition's lies in its disk's.
fn whole_disk(device: &Path) -> Option<String> {
    let device = device.canonicalize().ok()?;
    let disk = match device.join("partition").exists() {
        true => device.parent()?,
        false => &device,
    };
    Some(disk.file_name()?.to_str()?.to_owned())
}

/// By what is mounted: btrfs has several devices and a number of its own.
fn mounted_disks(dir: &Path) -> Vec<String> {
    let mounts = mounts::all();
    let mount = mounts::holding(&mounts, dir).filter(|mount| mount.source.starts_with("/dev/"));
    let device = mount.and_then(|mount| fs::metadata(&mount.source).ok());
    let Some(disk) = device.and_then(|device| disk_of(device.rdev())) else {
        return Vec::new();
    };
    let pool = btrfs_pools().into_iter().find(|pool| pool.contains(&disk));
    pool.unwrap_or_else(|| vec![disk])
}

/// The disks of each btrfs file system.
fn btrfs_pools() -> Vec<Vec<String>> {
    let pools = entries(Path::new("/sys/fs/btrfs"));
    pools
        .iter()
        .map(|pool| {
            let devices = entries(&pool.join("devices"));
            let mut disks: Vec<String> = devices
                .iter()
                .filter_map(|device| whole_disk(device))
                .collect();
            disks.sort();
            disks.dedup();
            disks
        })
        .collect()
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

/// A directory like `/sys/block`, for tests.
#[cfg(test)]
pub(crate) mod made_up {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    /// Writes files that the kernel would have for a device, with what is in them.
    pub(crate) fn device(all: &Path, name: &str, files: &[(&str, &str)]) {
        for (file, text) in files {
            let file = all.join(name).join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
    }

    /// Makes a device of others, each a disk or `disk/partition`.
    pub(crate) fn assembled(all: &Path, name: &str, parts: &[&str]) {
        let dir = all.join(name).join("slaves");
        fs::create_dir_all(&dir).unwrap();
        for part in parts {
            let part = all.join(part);
            fs::create_dir_all(&part).unwrap();
            symlink(&part, dir.join(part.file_name().unwrap())).unwrap();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_partition_is_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let partition = sys.path().join("block/sda/sda1");
        fs::create_dir_all(&partition).unwrap();
        assert_eq!(whole_disk(&partition).as_deref(), Some("sda1"));
        fs::write(partition.join("partition"), "1").unwrap();
        let link = sys.path().join("8:1");
        std::os::unix::fs::symlink(&partition, &link).unwrap();
        assert_eq!(whole_disk(&link).as_deref(), Some("sda"));
        assert_eq!(whole_disk(&sys.path().join("8:2")), None);
    }

    fn below(all: &Path, device: &str) -> (Vec<String>, Vec<String>) {
        let layers = layers(all, &[device.to_owned()]);
        (layers.assembled, layers.disks)
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn volumes_and_arrays_lie_on_disks() {
        let sys = tempfile::tempdir().unwrap();
        let all = sys.path();
        made_up::device(all, "sda/sda2", &[("partition", "2")]);
        made_up::device(all, "nvme0n1/nvme0n1p2", &[("partition", "2")]);
        // A volume of LVM on a partition.
        made_up::assembled(all, "dm-0", &["sda/sda2"]);
        assert_eq!(below(all, "dm-0"), (names(&["dm-0"]), names(&["sda"])));
        // A mirror of two partitions, LUKS on it, and a volume of LVM on that.
        made_up::assembled(all, "md0", &["sda/sda2", "nvme0n1/nvme0n1p2"]);
        made_up::assembled(all, "dm-1", &["md0"]);
        made_up::assembled(all, "dm-2", &["dm-1"]);
        let (assembled, disks) = below(all, "dm-2");
        assert_eq!(assembled, ["dm-1", "dm-2", "md0"]);
        assert_eq!(disks, ["nvme0n1", "sda"]);
        // A disk is made of nothing.
        assert_eq!(below(all, "sda"), (vec![], names(&["sda"])));
    }

    #[test]
    fn devices_that_lie_on_each_other_end_somewhere() {
        let sys = tempfile::tempdir().unwrap();
        made_up::assembled(sys.path(), "dm-0", &["dm-1"]);
        made_up::assembled(sys.path(), "dm-1", &["dm-0"]);
        let all = names(&["dm-0", "dm-1"]);
        assert_eq!(below(sys.path(), "dm-0"), (all, vec![]));
    }

    #[test]
    fn what_has_no_disk_is_absent() {
        for place in ["/proc", "/dev/shm", "/there/is/no/such/place"] {
            assert_eq!(
                disks_under(Path::new(place)),
                Vec::<String>::new(),
                "{place}"
            );
        }
    }
}
