//! A directory, its file system, and the disks under it.

use std::path::{Path, PathBuf};

use measure::result::{Disk, Place};

use crate::kernel;
use crate::monitors::{device, mounts};

/// The kernel gives sizes in these, whatever the disk's sectors are.
const SECTOR_BYTES: u64 = 512;

/// What is under each of `places`; for one that is not there yet, where it would be.
pub(crate) fn describe(places: &[&Path]) -> Vec<Place> {
    let mounts = mounts::all();
    places
        .iter()
        .map(|path| {
            let real = existing(path);
            let mount = real
                .as_deref()
                .and_then(|real| mounts::holding(&mounts, real));
            let disks = real.as_deref().map(device::disks_under);
            Place {
                path: path.display().to_string(),
                mount_point: mount.map(|mount| mount.point.display().to_string()),
                file_system: mount.map(|mount| mount.file_system.clone()),
                source: mount.map(|mount| mount.source.clone()),
                options: mount.map(|mount| mount.options.clone()),
                disks: disks.into_iter().flatten().map(disk).collect(),
            }
        })
        .collect()
}

/// The directory itself, or the nearest above it.
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|path| path.canonicalize().ok())
}

fn disk(name: String) -> Disk {
    let file = |file: &str| format!("/sys/class/block/{name}/{file}");
    let scheduler = super::line(file("queue/scheduler")).map(super::chosen);
    Disk {
        model: super::line(file("device/model")),
        bytes: kernel::number(file("size")).and_then(|size| size.checked_mul(SECTOR_BYTES)),
        scheduler,
        rotational: kernel::number(file("queue/rotational"))
            .map(|turns| turns != 0)
            .filter(|turns| !(*turns && is_virtual(&name))),
        cache: super::line(file("queue/write_cache")),
        name,
    }
}

/// The disk of a virtual machine says that it turns when it does not know.
fn is_virtual(name: &str) -> bool {
    name.starts_with("vd") || name.starts_with("xvd")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_without_a_disk_and_one_that_is_not_there_yet() {
        let places = describe(&[Path::new("/proc"), Path::new("/there/is/none")]);
        assert_eq!(places[0].file_system.as_deref(), Some("proc"));
        assert_eq!(places[0].disks, []);
        assert_eq!(places[1].path, "/there/is/none");
        assert_eq!(places[1].mount_point.as_deref(), Some("/"));
    }
}
