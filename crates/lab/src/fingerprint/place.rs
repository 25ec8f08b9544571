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
            let devices = real.as_deref().map(device::disks_under);
            Place {
                path: path.display().to_string(),
                mount_point: mount.map(|mount| mount.point.display().to_string()),
                file_system: mount.map(|mount| mount.file_system.clone()),
                source: mount.map(|mount| mount.source.clone()),
                options: mount.map(|mount| mount.options.clone()),
                disks: disks(
                    Path::new(device::BLOCK_DEVICES),
                    &devices.unwrap_or_default(),
                ),
            }
        })
        .collect()
}

/// The directory itself, or the nearest above it.
pub(crate) fn existing(path: &Path) -> Option<PathBuf> {
    let path = std::path::absolute(path).ok()?;
    path.ancestors().find_map(|path| path.canonicalize().ok())
}

/// The disks that `devices` lie on in the end; `all` is where the kernel tells of them. A
/// volume has no scheduler, model or speed of its own: its disks have.
pub(crate) fn disks(all: &Path, devices: &[String]) -> Vec<Disk> {
    let names = device::layers(all, devices).disks;
    names.into_iter().map(|name| disk(all, name)).collect()
}

fn disk(all: &Path, name: String) -> Disk {
    let file = |file: &str| all.join(&name).join(file);
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
    use crate::monitors::device::made_up;

    #[test]
    fn a_volume_is_described_by_its_disk() {
        let sys = tempfile::tempdir().unwrap();
        let (all, none) = (sys.path(), [("queue/scheduler", "[none]")]);
        made_up::device(all, "dm-1", &none);
        made_up::device(all, "sda/sda2", &[("partition", "2")]);
        made_up::assembled(all, "dm-1", &["sda/sda2"]);
        let files = [
            ("queue/scheduler", "mq-deadline [bfq] none\n"),
            ("queue/rotational", "1\n"),
            ("device/model", "ST4000NM\n"),
        ];
        made_up::device(all, "sda", &files);
        let disk = Disk {
            name: "sda".into(),
            model: Some("ST4000NM".into()),
            scheduler: Some("bfq".into()),
            rotational: Some(true),
            ..Disk::default()
        };
        assert_eq!(disks(all, &["dm-1".to_owned()]), [disk]);
    }

    #[test]
    fn a_place_without_a_disk_and_one_that_is_not_there_yet() {
        let places = describe(&[Path::new("/proc"), Path::new("/there/is/none")]);
        assert_eq!(places[0].file_system.as_deref(), Some("proc"));
        assert_eq!(places[0].disks, []);
        assert_eq!(places[1].path, "/there/is/none");
        assert_eq!(places[1].mount_point.as_deref(), Some("/"));
    }
}
