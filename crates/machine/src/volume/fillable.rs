//! Checks which disks may be filled: none that holds anything but dyno's servers.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use host::{Files, device, mounts};
use plan::{ActsOn, FaultVolume};

use crate::failure::{Failure, of_log};
use crate::site::{Site, ThisHost};
use crate::volume::directory;

/// Directories in which others need space, even if they are empty now.
const SHARED: [&str; 9] = [
    "/", "/boot", "/dev/shm", "/home", "/run", "/tmp", "/var", "/var/tmp", ".",
];
/// The only entry of an empty file system.
const EMPTY: &str = "lost+found";

/// Checks the disks that a study's faults fill; `cache` is dyno's cache.
pub fn check_all(topology: &plan::Topology, cache: &Path) -> Result<(), Failure> {
    let faults = topology.faults.iter();
    for fault in faults.filter(|fault| fault.kind().rules().acts_on == ActsOn::Space) {
        let node = &topology.node;
        let (volume, is_log) = match (fault.action.options().volume, &node.log_volume) {
            (FaultVolume::Log, Some(log)) => (log, true),
            _ => (&node.volume, false),
        };
        // A file system that dyno makes holds nothing else.
        if let (Some(directory), None) = (&volume.directory, &volume.file_system) {
            let checked = check(directory, cache, None);
            checked.map_err(|error| match is_log {
                true => of_log(error),
                false => error,
            })?;
        }
    }
    Ok(())
}

/// Checks that everything on the disk of a directory has a name with the prefix `own`.
pub fn check(directory: &Path, cache: &Path, own: Option<&str>) -> Result<(), Failure> {
    let unfit = |why: String| {
        directory::unfit(
            directory,
            format!("is on a disk that `fill_disk` may not fill: {why}"),
            "make a file system for the servers alone (filesystem = \"ext4\" in its section), \
             or name a directory on a disk that holds nothing else",
        )
    };
    let real = fs::canonicalize(directory).map_err(Failure::at("open", directory))?;
    let host = ThisHost::default();
    let own_disk = disk(&real, host.files())?;
    let is_own_disk = |other: Vec<String>| other.iter().any(|name| own_disk.contains(name));
    for other in SHARED.iter().map(Path::new).chain([cache]) {
        if disk(other, host.files()).is_ok_and(is_own_disk) {
            let shown = other.canonicalize().unwrap_or_else(|_| other.to_owned());
            return Err(unfit(format!("it is also that of {}", shown.display())));
        }
    }
    let mounts = mounts::all(host.files());
    let Some(mount) = mounts::containing(&mounts, &real).filter(|one| one.root == Path::new("/"))
    else {
        return Err(unfit("only a part of it is mounted there".to_owned()));
    };
    match foreign(&mount.point, &real, own)? {
        Some(path) => Err(unfit(format!("it also holds {}", path.display()))),
        None => Ok(()),
    }
}

/// Something that is not dyno's in the directory, or in one above it up to the mount point.
fn foreign(point: &Path, directory: &Path, own: Option<&str>) -> Result<Option<PathBuf>, Failure> {
    for dir in directory.ancestors() {
        for entry in fs::read_dir(dir).map_err(Failure::at("read", dir))? {
            let entry = entry.map_err(Failure::at("read", dir))?;
            let name = entry.file_name();
            let is_own = |own| name.to_str().is_some_and(|name| name.starts_with(own));
            let is_expected = name == EMPTY || directory.starts_with(entry.path());
            if !is_expected && !own.is_some_and(is_own) {
                return Ok(Some(entry.path()));
            }
        }
        if dir == point {
            break;
        }
    }
    Ok(None)
}

/// What identifies the disk of a path: the number of its file system, and the names of its devices
/// if it is one such as btrfs, which has a number for each subvolume.
fn disk(path: &Path, files: &dyn Files) -> Result<Vec<String>, Failure> {
    let meta = fs::metadata(path).map_err(Failure::at("inspect", path))?;
    let mut names = match rustix::fs::major(meta.dev()) {
        0 => device::below_dir(files, path),
        _ => Vec::new(),
    };
    names.push(meta.dev().to_string());
    Ok(names)
}

#[cfg(test)]
mod tests {
    use testkit::SmallDisk;

    use super::*;

    #[test]
    fn a_disk_that_holds_anything_else_is_not_filled() {
        let cache = tempfile::tempdir().unwrap();
        let refused = |directory: &Path, own| {
            let error = check(directory, cache.path(), own).unwrap_err();
            format!("{error}; {}", error.remedy.as_deref().unwrap())
        };
        for shared in ["/", "/usr", "/tmp", "/dev/shm", "."] {
            let said = refused(Path::new(shared), None);
            assert!(said.contains("it is also that of /"), "{shared}: {said}");
        }
        let Some(disk) = SmallDisk::new("1m") else {
            return;
        };
        let below = disk.path().join("servers/here");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(disk.path().join(EMPTY)).unwrap();
        check(&below, cache.path(), None).unwrap();
        let said = format!("{}", check(&below, disk.path(), None).unwrap_err());
        assert!(said.contains("also that of"), "{said}");
        fs::create_dir(below.join("dyno-1-2")).unwrap();
        check(&below, cache.path(), Some("dyno-1-")).unwrap();
        for own in [None, Some("dyno-2-")] {
            let said = refused(&below, own);
            assert!(
                said.contains("it also holds") && said.contains("dyno-1-2"),
                "{said}"
            );
        }
        fs::remove_dir(below.join("dyno-1-2")).unwrap();
        fs::write(disk.path().join("theirs"), "").unwrap();
        let said = refused(&below, Some("dyno-1-"));
        assert!(
            said.contains("theirs") && said.contains("filesystem ="),
            "{said}"
        );
    }
}
