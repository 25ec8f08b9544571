//! Writes dirty pages to disk, so that the disk is idle when a load starts.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{Advice, FileType, fadvise, syncfs};
use rustix::io::Errno;

use crate::failure::{Failure, canceled};
use crate::tree::OpenDir;

/// Waits until everything on the directory's file system is on disk. With `cold`, then drops the
/// directory's files from the page cache. Has no effect on file systems in memory, such as tmpfs.
pub(crate) fn settle(path: &Path, cold: bool, interrupted: &AtomicBool) -> Result<(), Failure> {
    if interrupted.load(Ordering::Relaxed) {
        return Err(canceled());
    }
    let dir = OpenDir::open(path)?;
    syncfs(&dir).map_err(Failure::at("write to disk", path))?;
    match cold {
        true => drop_pages(&dir),
        false => Ok(()),
    }
}

fn drop_pages(dir: &OpenDir) -> Result<(), Failure> {
    for entry in dir.entries()? {
        let name = OsStr::from_bytes(entry.name.to_bytes());
        match entry.kind() {
            FileType::Directory => drop_pages(&dir.open_dir(name)?)?,
            FileType::RegularFile => match fadvise(dir.open_file(name)?, 0, None, Advice::DontNeed)
            {
                // The file system has no page cache.
                Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP) => {}
                Err(error) => {
                    let path = dir.path().join(name);
                    return Err(Failure::at("drop from the page cache", &path)(error));
                }
            },
            _ => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;
    use crate::site::{Site, ThisHost};

    /// Bytes of a file that are in the page cache; `None` if unknown.
    fn resident_bytes(file: &Path) -> Option<u64> {
        let mut fincore = Command::new("fincore");
        fincore.args(["--bytes", "--noheadings", "--output", "RES"]);
        let output = fincore.arg(file).output().ok()?;
        String::from_utf8(output.stdout).ok()?.trim().parse().ok()
    }

    /// Dirty pages cannot be dropped, so dropped pages had been written.
    #[test]
    fn data_is_on_disk_and_out_of_memory() {
        let dir = tempfile::tempdir_in("/var/tmp").unwrap();
        let mounts = host::mounts::all(ThisHost::default().files());
        let real = std::fs::canonicalize(dir.path()).unwrap();
        let mount = host::mounts::containing(&mounts, &real);
        if mount.is_none_or(|mount| mount.file_system == "tmpfs") {
            return testkit::skip("/var/tmp is in memory, which its files cannot leave");
        }
        std::fs::create_dir(dir.path().join("db")).unwrap();
        let files = ["ibdata1", "db/t.ibd"].map(|name| dir.path().join(name));
        for file in &files {
            std::fs::write(file, vec![1; 4 << 20]).unwrap();
        }
        if files
            .iter()
            .any(|file| resident_bytes(file).is_none_or(|bytes| bytes == 0))
        {
            return testkit::skip("the kernel does not say which pages are in memory");
        }
        let settled = |cold| settle(dir.path(), cold, &AtomicBool::new(false)).unwrap();
        settled(false);
        assert!(files.iter().all(|file| resident_bytes(file) > Some(0)));
        settled(true);
        assert_eq!(files.map(|file| resident_bytes(&file)), [Some(0), Some(0)]);
    }

    #[test]
    fn an_interrupt_is_not_delayed() {
        let dir = tempfile::tempdir().unwrap();
        let settled = settle(dir.path(), true, &AtomicBool::new(true));
        assert!(
            settled.as_ref().is_err_and(Failure::is_interrupted),
            "{settled:?}"
        );
    }
}
