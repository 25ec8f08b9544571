//! Locks between dynos: a file held by flock, which the kernel frees however its
//! holder ends.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

use crate::error::LabError;

/// A lock that is held. Servers do not inherit it: the file is closed on exec.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits until nobody else has it.
    pub(crate) fn exclusive(path: &Path) -> Result<Self, LabError> {
        loop {
            let file = open(path)?;
            file.lock().map_err(LabError::at("lock", path))?;
            if is_there(&file, path)? {
                return Ok(Self { _file: file });
            }
        }
    }

    /// `None` while somebody has it in any way.
    pub(crate) fn try_exclusive(path: &Path) -> Result<Option<Self>, LabError> {
        Self::attempt(path, File::try_lock)
    }

    /// `None` while somebody has it for himself.
    pub(crate) fn try_shared(path: &Path) -> Result<Option<Self>, LabError> {
        Self::attempt(path, File::try_lock_shared)
    }

    fn attempt(
        path: &Path,
        lock: impl Fn(&File) -> Result<(), TryLockError>,
    ) -> Result<Option<Self>, LabError> {
        loop {
            let file = open(path)?;
            match lock(&file) {
                Ok(()) if is_there(&file, path)? => return Ok(Some(Self { _file: file })),
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(LabError::at("lock", path)(error)),
            }
        }
    }
}

fn open(path: &Path) -> Result<File, LabError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(LabError::at("open", path))
}

/// Whether the file that was locked is still the one at `path`: its last holder may
/// have removed it in between.
fn is_there(file: &File, path: &Path) -> Result<bool, LabError> {
    let held = file.metadata().map_err(LabError::at("look at", path))?;
    match fs::symlink_metadata(path) {
        Ok(meta) => Ok((meta.dev(), meta.ino()) == (held.dev(), held.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(LabError::at("look at", path)(error)),
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

    /// Who waited for a lock whose file was removed would else hold nothing.
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
            assert!(is_there(&second._file, &path).unwrap());
            assert!(Lock::try_exclusive(&path).unwrap().is_none());
        });
    }
}
