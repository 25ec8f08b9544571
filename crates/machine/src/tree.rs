//! Walks directory trees that other users may change while dyno, perhaps as root, works in them.
//!
//! Every step opens a name in a directory that is already open, and never follows a symbolic
//! link, so that replacing an entry cannot lead the walk out of the tree. A file system mounted
//! inside the tree is refused.

use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat, StatxAttributes, StatxFlags, fstat, openat,
    statat, statx, symlinkat, unlinkat,
};
use rustix::io::Errno;

use crate::failure::Failure;
use crate::home::trust::untrusted;

const MOUNTED: &str = "has another file system mounted on it";
/// Deeper trees are refused: servers need three levels, and each one costs an open file.
const MAX_DEPTH: usize = 64;

/// An open directory, with its path for error messages.
#[derive(Debug)]
pub struct OpenDir {
    fd: OwnedFd,
    path: PathBuf,
    depth: usize,
}

#[derive(Debug)]
pub struct Entry {
    pub name: OsString,
    pub stat: Stat,
}

impl Entry {
    pub fn kind(&self) -> FileType {
        FileType::from_raw_mode(self.stat.st_mode)
    }
}

impl OpenDir {
    /// Opens a directory whose parents nobody else can change. It must not be a symbolic link.
    pub fn open(path: &Path) -> Result<Self, Failure> {
        let fd = openat(CWD, path, DIRECTORY, Mode::empty());
        Ok(Self {
            fd: fd.map_err(Failure::at("open", path))?,
            path: path.to_owned(),
            depth: 0,
        })
    }

    /// Opens a directory in this one.
    pub fn open_dir(&self, name: impl AsRef<OsStr>) -> Result<Self, Failure> {
        let path = self.path.join(name.as_ref());
        if self.depth == MAX_DEPTH {
            return Err(Failure::at("open", &path)(Errno::NAMETOOLONG));
        }
        let fd = openat(&self.fd, name.as_ref(), DIRECTORY, Mode::empty());
        let fd = fd.map_err(Failure::at("open", &path))?;
        if is_mount_point(&fd, self.fd.as_fd()).map_err(Failure::at("inspect", &path))? {
            return Err(untrusted(&path, MOUNTED));
        }
        let depth = self.depth + 1;
        Ok(Self { fd, path, depth })
    }

    /// Opens a file in this directory for reading, if it is still a regular file.
    pub fn open_file(&self, name: impl AsRef<OsStr>) -> Result<OwnedFd, Failure> {
        let path = self.path.join(name.as_ref());
        // Opening a named pipe would block.
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name.as_ref(), flags, Mode::empty());
        let fd = fd.map_err(Failure::at("open", &path))?;
        let stat = fstat(&fd).map_err(Failure::at("inspect", &path))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(untrusted(&path, "is not a regular file"));
        }
        Ok(fd)
    }

    /// Creates a file in this directory for writing, in place of one with that name. Only its owner
    /// can read it.
    pub fn create_file(&self, name: impl AsRef<OsStr>) -> Result<OwnedFd, Failure> {
        self.remove_file(&name)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let fd = openat(&self.fd, name.as_ref(), flags, Mode::RUSR | Mode::WUSR);
        fd.map_err(Failure::at("create", &self.path.join(name.as_ref())))
    }

    pub fn create_link(&self, name: &OsStr, target: &Path) -> Result<(), Failure> {
        symlinkat(target, &self.fd, name).map_err(Failure::at("create", &self.path.join(name)))
    }

    /// Removes a file from this directory, if it exists.
    pub fn remove_file(&self, name: impl AsRef<OsStr>) -> Result<(), Failure> {
        match unlinkat(&self.fd, name.as_ref(), AtFlags::empty()) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed.map_err(Failure::at("remove", &self.path.join(name.as_ref()))),
        }
    }

    pub fn entries(&self) -> Result<Vec<Entry>, Failure> {
        let failed = || Failure::at("read", &self.path);
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.fd).map_err(failed())? {
            let entry = entry.map_err(failed())?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes()).to_owned();
            if name == "." || name == ".." {
                continue;
            }
            match statat(&self.fd, &name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => entries.push(Entry { name, stat }),
                // Removed in the meantime.
                Err(Errno::NOENT) => {}
                Err(error) => return Err(failed()(error)),
            }
        }
        Ok(entries)
    }

    pub(crate) fn stat(&self) -> Result<Stat, Failure> {
        fstat(&self.fd).map_err(Failure::at("inspect", &self.path))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes everything in the directory.
    pub fn remove_content(&self) -> Result<(), Failure> {
        for entry in self.entries()? {
            let name = &entry.name;
            if entry.kind() != FileType::Directory {
                self.remove_file(name)?;
                continue;
            }
            self.open_dir(name)?.remove_content()?;
            match unlinkat(&self.fd, name, AtFlags::REMOVEDIR) {
                Err(Errno::NOENT) => {}
                removed => removed.map_err(Failure::at("remove", &self.path.join(name)))?,
            }
        }
        Ok(())
    }

    /// The latest modification time of files in or below the directory, as far as it is readable.
    pub fn last_write(&self) -> Option<SystemTime> {
        let entries = self.entries().ok()?;
        let times = entries.iter().filter_map(|entry| match entry.kind() {
            FileType::Directory => self.open_dir(&entry.name).ok()?.last_write(),
            _ => {
                let after_epoch = Duration::from_secs(u64::try_from(entry.stat.st_mtime).ok()?);
                SystemTime::UNIX_EPOCH.checked_add(after_epoch)
            }
        });
        times.max()
    }

    fn used_bytes(&self) -> u64 {
        let entries = self.entries().unwrap_or_default();
        let used = entries.iter().map(|entry| {
            let below = match entry.kind() {
                FileType::Directory => self.open_dir(&entry.name).map_or(0, |dir| dir.used_bytes()),
                _ => 0,
            };
            below + blocks(&entry.stat)
        });
        used.sum()
    }
}

impl AsFd for OpenDir {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Removes a directory and its contents. Nobody else may be able to change the directories above
/// it.
pub fn remove(path: &Path) -> Result<(), Failure> {
    let dir = OpenDir::open(path)?;
    // Checks the directory itself: its parent may well be on another file system.
    if is_mount_root(&dir.fd).map_err(Failure::at("inspect", path))? == Some(true) {
        return Err(untrusted(path, MOUNTED));
    }
    dir.remove_content()?;
    std::fs::remove_dir(path).map_err(Failure::at("remove", path))
}

/// Disk space of a directory and its contents, as far as they are readable.
pub fn used_bytes(path: &Path) -> u64 {
    let Ok(dir) = OpenDir::open(path) else {
        return 0;
    };
    dir.used_bytes() + dir.stat().map_or(0, |stat| blocks(&stat))
}

fn blocks(stat: &Stat) -> u64 {
    u64::try_from(stat.st_blocks).unwrap_or_default() * 512
}

/// Whether something is mounted on `dir`, which was opened in `parent`.
fn is_mount_point(dir: &OwnedFd, parent: BorrowedFd<'_>) -> rustix::io::Result<bool> {
    Ok(match is_mount_root(dir)? {
        Some(is_root) => is_root,
        // Linux before 5.8 does not report bind mounts of the same file system.
        None => fstat(dir)?.st_dev != fstat(parent)?.st_dev,
    })
}

/// `None` if the kernel does not report it.
fn is_mount_root(dir: &OwnedFd) -> rustix::io::Result<Option<bool>> {
    match statx(dir, c"", AtFlags::EMPTY_PATH, StatxFlags::empty()) {
        Ok(seen) => {
            let is_known = (seen.stx_attributes_mask).contains(StatxAttributes::MOUNT_ROOT);
            Ok(is_known.then(|| seen.stx_attributes.contains(StatxAttributes::MOUNT_ROOT)))
        }
        Err(Errno::NOSYS) => Ok(None),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    use super::*;

    /// A directory that is mounted a second time until this value is dropped.
    struct BindMount(PathBuf);

    impl BindMount {
        /// `None` where this user may not mount.
        fn new(from: &Path, to: &Path) -> Option<Self> {
            let mut mount = Command::new("mount");
            mount.arg("--bind").arg(from).arg(to);
            let is_mounted = mount.output().is_ok_and(|output| output.status.success());
            is_mounted.then(|| Self(to.to_owned()))
        }
    }

    impl Drop for BindMount {
        fn drop(&mut self) {
            let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        }
    }

    #[test]
    fn the_last_write_is_that_of_any_file() {
        let dir = tempfile::tempdir().unwrap();
        let open = || OpenDir::open(dir.path()).unwrap().last_write();
        assert_eq!(open(), None);
        let time = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        fs::create_dir_all(dir.path().join("a/b")).unwrap();
        for (name, seconds) in [("old", 1000), ("a/b/new", 3000), ("a/newer", 2000)] {
            let file = fs::File::create(dir.path().join(name)).unwrap();
            file.set_modified(time(seconds)).unwrap();
        }
        assert_eq!(open(), Some(time(3000)));
    }

    #[test]
    fn links_are_removed_and_what_they_lead_to_is_not() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(dir.path().join("tree/a/b")).unwrap();
        fs::write(dir.path().join("tree/a/b/file"), "x").unwrap();
        fs::write(other.path().join("theirs"), "x").unwrap();
        symlink(other.path(), dir.path().join("tree/a/dir")).unwrap();
        symlink(other.path().join("theirs"), dir.path().join("tree/file")).unwrap();
        remove(&dir.path().join("tree")).unwrap();
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        assert_eq!(fs::read(other.path().join("theirs")).unwrap(), b"x");
        // If the tree's own path is a link, it is not removed either.
        symlink(other.path(), dir.path().join("tree")).unwrap();
        remove(&dir.path().join("tree")).unwrap_err();
        assert!(other.path().join("theirs").exists());
    }

    /// As if the server's account replaced directories while they are removed.
    #[test]
    fn a_directory_that_becomes_a_link_is_not_followed() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("theirs"), "x").unwrap();
        for round in 0..20 {
            let tree = dir.path().join(format!("tree{round}"));
            for number in 0..50 {
                fs::create_dir_all(tree.join(format!("{number}/sub"))).unwrap();
                fs::write(tree.join(format!("{number}/theirs")), "x").unwrap();
            }
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    for number in (0..50).rev() {
                        let name = tree.join(number.to_string());
                        if fs::rename(&name, tree.join(format!("moved{number}"))).is_ok() {
                            let _ = symlink(other.path(), &name);
                        }
                    }
                });
                // Fails if the tree changes meanwhile, so it is repeated.
                while remove(&tree).is_err() && tree.exists() {}
            });
            let _ = remove(&tree);
            assert_eq!(fs::read(other.path().join("theirs")).unwrap(), b"x");
        }
    }

    #[test]
    fn a_mount_in_the_tree_is_not_removed() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("theirs"), "x").unwrap();
        let point = dir.path().join("tree/point");
        fs::create_dir_all(&point).unwrap();
        let Some(_mounted) = BindMount::new(other.path(), &point) else {
            return testkit::skip("this user may not mount");
        };
        for path in [dir.path().join("tree"), point] {
            let error = remove(&path).unwrap_err().to_string();
            assert!(error.contains("another file system"), "{error}");
        }
        assert_eq!(fs::read(other.path().join("theirs")).unwrap(), b"x");
    }

    #[test]
    fn a_tree_that_is_too_deep_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let deep: PathBuf = std::iter::repeat_n("d", MAX_DEPTH + 2).collect();
        fs::create_dir_all(dir.path().join("tree").join(deep)).unwrap();
        remove(&dir.path().join("tree")).unwrap_err();
    }

    #[test]
    fn a_pipe_in_the_place_of_a_file_is_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let mode = Mode::RUSR | Mode::WUSR;
        rustix::fs::mknodat(CWD, dir.path().join("pipe"), FileType::Fifo, mode, 0).unwrap();
        symlink("/etc/passwd", dir.path().join("link")).unwrap();
        let dir = OpenDir::open(dir.path()).unwrap();
        let error = dir.open_file("pipe").unwrap_err().to_string();
        assert!(error.contains("not a regular file"), "{error}");
        dir.open_file("link").unwrap_err();
    }

    #[test]
    fn used_bytes_count_blocks_and_follow_no_link() {
        let dir = tempfile::tempdir().unwrap();
        let empty = used_bytes(dir.path());
        fs::create_dir(dir.path().join("a")).unwrap();
        fs::write(dir.path().join("a/b"), vec![1; 100_000]).unwrap();
        symlink("/usr", dir.path().join("link")).unwrap();
        let sparse = fs::File::create(dir.path().join("hole")).unwrap();
        sparse.set_len(1 << 30).unwrap();
        let used = used_bytes(dir.path()) - empty;
        assert!((100_000..1 << 20).contains(&used), "{used}");
    }
}
