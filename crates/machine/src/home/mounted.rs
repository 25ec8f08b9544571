//! Where the file system of a path is mounted, and whether it is mounted now; unmounts what dyno
//! mounted.
//!
//! A mount point is identified by its depth: of `/mnt/nvme/a`, `/` has depth 0 and `/mnt/nvme`
//! depth 2. Device numbers do not help: many file systems get a new one with each mount.

use std::fs;
use std::path::Path;
use std::time::Duration;

use host::LOCAL;
use host::mounts::{self, Mount};
use rustix::io::Errno;
use rustix::mount::UnmountFlags;

use crate::device;
use crate::failure::Failure;
use crate::process;

/// How long killed processes may keep a file system in use.
const BUSY_LIMIT: Duration = Duration::from_secs(5);

/// File systems that lose their content when they are unmounted.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];
/// The directory at which dyno mounts a file system that it created for a volume.
pub(crate) const MOUNT_POINT: &str = "mounted";
/// The type of a file system that is mounted on first access.
const PLACEHOLDER: &str = "autofs";

/// The mounts of this host.
pub(super) fn all() -> Vec<Mount> {
    mounts::all(&LOCAL)
}

/// Unmounts the file systems that dyno created and mounted below a directory of its own, the last
/// one first. Other mounts stay.
pub(crate) fn unmount_below(dir: &Path) -> Result<(), Failure> {
    made_below(dir).try_for_each(|mount| take_down(&mount))
}

/// Like [`unmount_below`], for good: devices that a study named are empty afterward.
pub(crate) fn end_below(dir: &Path) -> Result<(), Failure> {
    for mount in made_below(dir) {
        let source = Path::new(&mount.source);
        // The kernel detaches dyno's loop devices, and may give their numbers to other programs.
        let is_named = !is_loop_on_file_in(source, dir);
        take_down(&mount)?;
        if is_named {
            device::wipe_own(source)?;
        }
    }
    Ok(())
}

/// The last one first.
fn made_below(dir: &Path) -> impl Iterator<Item = Mount> {
    let below = all().into_iter().rev();
    below.filter(move |mount| mount.point.starts_with(dir) && is_made(mount))
}

fn take_down(mount: &Mount) -> Result<(), Failure> {
    let files = device::scrub_files(Path::new(&mount.source));
    if !files.is_empty() {
        device::cancel_jobs(&mount.point);
    }
    unmount(&mount.point)?;
    // Not before: the scrub program writes them again before it closes the file system.
    for file in files {
        let _ = fs::remove_file(file);
    }
    Ok(())
}

fn is_loop_on_file_in(device: &Path, dir: &Path) -> bool {
    let name = device.file_name().unwrap_or_default();
    let file = Path::new("/sys/block").join(name).join("loop/backing_file");
    host::line(&LOCAL, file).is_some_and(|file| Path::new(&file).starts_with(dir))
}

/// Whether a whole device is mounted where dyno mounts one.
fn is_made(mount: &Mount) -> bool {
    mount.point.ends_with(MOUNT_POINT)
        && mount.root == Path::new("/")
        && mount.source.starts_with("/dev/")
}

/// Retries, because processes that were just killed may still have files open.
fn unmount(point: &Path) -> Result<(), Failure> {
    let unmount = |flags| rustix::mount::unmount(point, flags);
    let unmounted = process::poll(BUSY_LIMIT, || match unmount(UnmountFlags::NOFOLLOW) {
        Err(Errno::BUSY) => None,
        unmounted => Some(unmounted),
    });
    let at_last = UnmountFlags::NOFOLLOW | UnmountFlags::DETACH;
    let unmounted = unmounted.unwrap_or_else(|| unmount(at_last));
    unmounted.map_err(Failure::at("unmount", point))
}

/// The depth of the mount point above `path`, which is absolute and without symbolic links;
/// `None` for a file system in memory, or if the mount is unknown.
pub(super) fn depth(mounts: &[Mount], path: &Path) -> Option<usize> {
    let mount = mounts::containing(mounts, path)?;
    let is_lasting = !IN_MEMORY.contains(&mount.file_system.as_str());
    is_lasting.then(|| names(&mount.point))
}

/// Whether a file system is mounted at this depth above `path` and not hidden by another.
pub(super) fn is_at(mut mounts: Vec<Mount>, depth: usize, path: &Path) -> bool {
    mounts.retain(|mount| mount.file_system != PLACEHOLDER);
    mounts::containing(&mounts, path).is_some_and(|mount| names(&mount.point) == depth)
}

/// The number of names in a path, without the root.
fn names(path: &Path) -> usize {
    path.iter().skip(1).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: &str = "27 1 254:0 / / rw - ext4 /dev/vda rw\n";
    const DISK: &str = "28 27 259:1 / /mnt/nvme rw - xfs /dev/nvme0n1 rw\n";
    /// The same disk with another device number.
    const AGAIN: &str = "31 27 259:4 / /mnt/nvme rw - xfs /dev/nvme1n1 rw\n";
    const PLACE_HELD: &str = "29 27 0:41 / /mnt/nvme rw - autofs systemd-1 rw\n";
    const MEMORY: &str = "30 27 0:42 / /mnt/nvme rw - tmpfs none rw\n";
    const COVER: &str = "32 27 8:1 / /mnt rw - ext4 /dev/sda1 rw\n";

    fn mounted(lines: &[&str]) -> Vec<Mount> {
        mounts::parse(&lines.concat())
    }

    #[test]
    fn a_disk_is_recognized_whatever_its_number() {
        let path = Path::new("/mnt/nvme/dyno-1-2");
        let depth = depth(&mounted(&[ROOT, DISK]), path).unwrap();
        assert_eq!(depth, 2);
        let exists = |lines: &[&str]| is_at(mounted(lines), depth, path);
        assert!(exists(&[ROOT, DISK]) && exists(&[ROOT, AGAIN]));
        assert!(exists(&[ROOT, PLACE_HELD, AGAIN]));
        assert!(!exists(&[ROOT]) && !exists(&[ROOT, PLACE_HELD]) && !exists(&[]));
    }

    #[test]
    fn a_covered_file_system_does_not_count() {
        let path = Path::new("/mnt/nvme/dyno-1-2");
        let depth = depth(&mounted(&[ROOT]), path).unwrap();
        assert!(is_at(mounted(&[ROOT]), depth, path));
        assert!(!is_at(mounted(&[ROOT, COVER]), depth, path));
    }

    #[test]
    fn a_file_system_in_memory_has_no_depth() {
        let path = Path::new("/mnt/nvme/dyno-1-2");
        assert_eq!(depth(&mounted(&[ROOT, MEMORY]), path), None);
        assert_eq!(depth(&mounted(&[]), path), None);
    }
}
