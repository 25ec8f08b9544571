//! Locks between dyno processes: files locked with flock, which the kernel releases however the
//! holder ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::Duration;

use rustix::fs::OFlags;

use super::trust::{self, untrusted};
use crate::failure::{Fact, Failure};
use crate::process::{self, TOOL_LIMIT};

/// Servers do not inherit a held lock: the file is closed on exec.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until no other process holds the lock, which none holds for long.
    pub(crate) fn exclusive(path: &Path) -> Result<Self, Failure> {
        Self::exclusive_within(TOOL_LIMIT, path)
    }

    fn exclusive_within(limit: Duration, path: &Path) -> Result<Self, Failure> {
        let taken = process::poll(limit, || Self::try_exclusive(path).transpose());
        taken.unwrap_or_else(|| {
            let (path, limit_s) = (path.display(), limit.as_secs());
            let message = format!("another dyno has held {path} for more than {limit_s} s");
            let remedy = "resume or end that process, which may be stopped or wait for a disk";
            Err(Failure::server(message).remedy(remedy))
        })
    }

    /// `None` while another process holds the lock in any mode.
    pub fn try_exclusive(path: &Path) -> Result<Option<Self>, Failure> {
        Self::attempt(path, true, File::try_lock)
    }

    /// Takes an existing lock. `None` if there is no such file, or while another process holds the
    /// lock in any mode.
    pub fn try_existing(path: &Path) -> Result<Option<Self>, Failure> {
        match Self::attempt(path, false, File::try_lock) {
            Err(error) if error.is(Fact::Io(io::ErrorKind::NotFound)) => Ok(None),
            taken => taken,
        }
    }

    /// `None` while another process holds the lock exclusively.
    pub fn try_shared(path: &Path) -> Result<Option<Self>, Failure> {
        Self::attempt(path, true, File::try_lock_shared)
    }

    fn attempt(
        path: &Path,
        is_made: bool,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Option<Self>, Failure> {
        loop {
            let file = open(path, is_made)?;
            match lock(&file) {
                Ok(()) if is_current(&file, path)? => return Ok(Some(Self { _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(Failure::at("lock", path)(error)),
            }
        }
    }
}

/// Opens a file that only this user can have created, and refuses anything else in its place. With
/// `is_made`, creates it if there is none.
fn open(path: &Path, is_made: bool) -> Result<File, Failure> {
    // Opening a named pipe would block.
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(is_made).mode(0o600);
    options.custom_flags(flags.bits().cast_signed());
    let file = options.open(path).map_err(Failure::at("open", path))?;
    let meta = file.metadata().map_err(Failure::at("inspect", path))?;
    if !meta.is_file() {
        return Err(untrusted(path, "is not a regular file"));
    }
    trust::check_owner(meta.uid()).map_err(|why| untrusted(path, &why))?;
    Ok(file)
}

/// Whether the locked file is still the one at `path`: its last holder may have removed it.
fn is_current(file: &File, path: &Path) -> Result<bool, Failure> {
    let held = file.metadata().map_err(Failure::at("inspect", path))?;
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok((meta.dev(), meta.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(Failure::at("inspect", path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holds_it_alone_or_many_share_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let one = Lock::try_shared(&path).unwrap().unwrap();
        let two = Lock::try_shared(&path).unwrap().unwrap();
        assert!(Lock::try_exclusive(&path).unwrap().is_none());
        drop((one, two));
        let alone = Lock::try_exclusive(&path).unwrap().unwrap();
        assert!(Lock::try_shared(&path).unwrap().is_none());
        drop(alone);
        assert!(Lock::try_shared(&path).unwrap().is_some());
    }

    #[test]
    fn a_lock_that_is_not_released_is_not_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let held = Lock::exclusive(&path).unwrap();
        let error = Lock::exclusive_within(Duration::ZERO, &path).unwrap_err();
        assert!(error.message.contains("another dyno"), "{error}");
        drop(held);
        Lock::exclusive_within(Duration::ZERO, &path).unwrap();
    }

    #[test]
    fn try_existing_creates_no_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        assert!(Lock::try_existing(&path).unwrap().is_none());
        assert!(!path.exists());
        drop(Lock::exclusive(&path).unwrap());
        let held = Lock::try_existing(&path).unwrap().unwrap();
        assert!(Lock::try_existing(&path).unwrap().is_none());
        drop(held);
    }

    #[test]
    fn anything_but_a_lock_file_is_refused_and_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("target");
        fs::write(&target, "theirs").unwrap();
        let path = |name: &str| dir.path().join(name);
        std::os::unix::fs::symlink(&target, path("link")).unwrap();
        std::os::unix::fs::symlink("/there/is/none", path("dangling")).unwrap();
        fs::create_dir(path("dir")).unwrap();
        let pipe = std::process::Command::new("mkfifo")
            .arg(path("pipe"))
            .status();
        assert!(pipe.unwrap().success());
        let mut names = vec!["link", "dangling", "dir", "pipe"];
        if rustix::process::geteuid().is_root() {
            fs::write(path("foreign"), "").unwrap();
            std::os::unix::fs::chown(path("foreign"), Some(65534), None).unwrap();
            names.push("foreign");
        }
        for name in names {
            Lock::try_existing(&path(name)).expect_err(name);
            Lock::try_exclusive(&path(name)).expect_err(name);
            Lock::exclusive(&path(name)).expect_err(name);
        }
        assert_eq!(fs::read(&target).unwrap(), b"theirs");
    }

    /// A process that waited for a lock whose file was removed would otherwise hold nothing.
    #[test]
    fn a_removed_lock_is_not_mistaken_for_the_new_one() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("lock");
        let first = Lock::exclusive(&path).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(|| Lock::exclusive(&path).unwrap());
            std::thread::sleep(std::time::Duration::from_millis(50));
            fs::remove_file(&path).unwrap();
            drop(first);
            let second = waiting.join().unwrap();
            assert!(is_current(&second._file, &path).unwrap());
            assert!(Lock::try_exclusive(&path).unwrap().is_none());
        });
    }
}
