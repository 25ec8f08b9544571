//! Which disks hold a directory.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::mounts;

/// The kernel's names of the disks under `dir`, as whole disks; none when its file
/// system has no disk of its own (tmpfs, overlay, network).
pub(crate) fn disks_under(dir: &Path) -> Vec<String> {
    let Ok(dir) = dir.canonicalize() else {
        return Vec::new();
    };
    let Ok(meta) = dir.metadata() else {
        return Vec::new();
    };
    disk_of(meta.dev()).map_or_else(|| mounted_disks(&dir), |disk| vec![disk])
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
    let entries = |dir: &Path| {
        let entries = fs::read_dir(dir).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect::<Vec<_>>()
    };
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
