//! Copies a data directory: shares blocks if the file system can, otherwise copies everything
//! except holes.

use std::ffi::OsStr;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::DirBuilderExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{
    FileType, Mode, OFlags, SeekFrom, Stat, fstat, ioctl_ficlone, mkdirat, openat, seek,
};
use rustix::io::Errno;

use crate::account::Account;
use crate::failure::{Failure, canceled};
use crate::tree::OpenDir;

/// Maximum number of bytes between two looks at whether the user interrupts.
const STEP_BYTES: u64 = 64 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// Size of the files without holes.
    pub bytes: u64,
    pub took: Duration,
    /// Whether every block is shared with the original until one of them is written.
    pub is_shared: bool,
}

impl Copied {
    /// The sum of two copies; blocks are shared only if they are in both.
    pub fn and(self, other: Self) -> Self {
        Self {
            bytes: self.bytes + other.bytes,
            took: self.took + other.took,
            is_shared: self.is_shared && other.is_shared,
        }
    }
}

/// Copies the directory `from` to `to`, which must not exist. Everything in it must belong to
/// `account`, as will the copy. Only files and directories are copied; a data directory contains
/// nothing else of importance. Symbolic links are never followed: a server could have planted them.
pub fn copy_dir(
    from: &Path,
    to: &Path,
    account: &Account,
    interrupted: &AtomicBool,
) -> Result<Copied, Failure> {
    copy_entries(from, to, account, &|_| true, interrupted)
}

/// Like [`copy_dir`], but only those entries of `from` whose names are wanted, with everything
/// below them.
pub fn copy_entries(
    from: &Path,
    to: &Path,
    account: &Account,
    is_wanted: &dyn Fn(&OsStr) -> bool,
    interrupted: &AtomicBool,
) -> Result<Copied, Failure> {
    let begun = Instant::now();
    let mut copy = Copy {
        account,
        interrupted,
        bytes: 0,
        shares: true,
    };
    // Inaccessible to others until it is complete.
    let made = DirBuilder::new().mode(0o700).create(to);
    made.map_err(Failure::at("create", to))?;
    copy.dir(&OpenDir::open(from)?, &OpenDir::open(to)?, is_wanted)?;
    Ok(Copied {
        bytes: copy.bytes,
        took: begun.elapsed(),
        is_shared: copy.shares,
    })
}

struct Copy<'a> {
    account: &'a Account,
    interrupted: &'a AtomicBool,
    bytes: u64,
    /// False once the file system has refused.
    shares: bool,
}

impl Copy<'_> {
    fn dir(
        &mut self,
        from: &OpenDir,
        to: &OpenDir,
        is_wanted: &dyn Fn(&OsStr) -> bool,
    ) -> Result<(), Failure> {
        let stat = from.stat()?;
        self.check_owner(&stat, from.path())?;
        for entry in from.entries()? {
            let name = entry.name.as_os_str();
            match entry.kind() {
                _ if !is_wanted(name) => {}
                FileType::Directory => {
                    let made = mkdirat(to, name, Mode::RWXU);
                    made.map_err(Failure::at("create", &to.path().join(name)))?;
                    self.dir(&from.open_dir(name)?, &to.open_dir(name)?, &|_| true)?;
                }
                FileType::RegularFile => self.file(from, to, name)?,
                _ => {}
            }
        }
        self.hand_over(to.as_fd(), stat.st_mode)
            .map_err(Failure::at("change the owner of", to.path()))
    }

    fn file(&mut self, from: &OpenDir, to: &OpenDir, name: &OsStr) -> Result<(), Failure> {
        let source = File::from(from.open_file(name)?);
        let source_path = from.path().join(name);
        let stat = fstat(&source);
        let stat = stat.map_err(Failure::at("read", &source_path))?;
        self.check_owner(&stat, &source_path)?;
        let path = to.path().join(name);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        let target = openat(to, name, flags | OFlags::CLOEXEC, Mode::RUSR | Mode::WUSR);
        let target = target.map_err(Failure::at("create", &path))?;
        let target = File::from(target);
        let copied = self.content(&source, &target, &stat);
        if self.interrupted.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        copied.map_err(Failure::at("copy", &path))?;
        self.hand_over(target.as_fd(), stat.st_mode)
            .map_err(Failure::at("change the owner of", &path))
    }

    /// Someone may have put a hard link to another user's file into a directory of the account,
    /// which must not get a readable copy of it.
    fn check_owner(&self, stat: &Stat, path: &Path) -> Result<(), Failure> {
        match (stat.st_uid, self.account.uid()) {
            (owner, uid) if owner == uid => Ok(()),
            (owner, uid) => {
                let message = format!(
                    "{} belongs to user {owner}; servers run as user {uid}",
                    path.display()
                );
                Err(Failure::server(message)
                    .remedy("remove the prepared data with dyno clean --templates, and run again"))
            }
        }
    }

    fn hand_over(&self, file: BorrowedFd<'_>, mode: u32) -> io::Result<()> {
        self.account.own_file(file)?;
        rustix::fs::fchmod(file, rustix::fs::Mode::from_raw_mode(mode & 0o777))?;
        Ok(())
    }

    fn content(&mut self, from: &File, to: &File, stat: &Stat) -> io::Result<()> {
        let len = u64::try_from(stat.st_size).unwrap_or_default();
        if len == 0 {
            return Ok(());
        }
        if self.shares {
            match ioctl_ficlone(to, from) {
                Ok(()) => {
                    let blocks = u64::try_from(stat.st_blocks).unwrap_or_default();
                    self.bytes += len.min(blocks * 512);
                    return Ok(());
                }
                Err(Errno::NOSPC) => return Err(Errno::NOSPC.into()),
                // Not supported by the file system, or not between these two.
                Err(_) => self.shares = false,
            }
        }
        rustix::fs::ftruncate(to, len)?;
        let mut at = 0;
        while let Some((start, end)) = next_data(from, at, len)? {
            at = end.min(start + STEP_BYTES);
            copy_range(from, to, start, at)?;
            self.bytes += at - start;
            if self.interrupted.load(Ordering::Relaxed) {
                return Err(Errno::INTR.into());
            }
        }
        Ok(())
    }
}

/// The first range of the file at or after `at` that is not a hole.
fn next_data(file: &File, at: u64, len: u64) -> Result<Option<(u64, u64)>, Errno> {
    if at >= len {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // The file system does not support holes.
        Err(Errno::INVAL) => return Ok(Some((at, len))),
        Err(error) => return Err(error),
    };
    let end = seek(file, SeekFrom::Hole(start))?;
    Ok(Some((start, end.min(len))))
}

/// Copies within the kernel (`copy_file_range`) if both file systems support that, as [`io::copy`]
/// does. Less is copied if the file was truncated.
fn copy_range(mut from: &File, mut to: &File, start: u64, end: u64) -> io::Result<()> {
    io::Seek::seek(&mut from, io::SeekFrom::Start(start))?;
    io::Seek::seek(&mut to, io::SeekFrom::Start(start))?;
    io::copy(&mut io::Read::take(from, end - start), &mut to).map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};

    use proptest::prelude::*;

    use super::*;
    use crate::process::NEVER;
    use crate::testing::account;

    /// Gives a tree to the servers' account, which owns a server's data.
    fn give(path: &Path) {
        account().own(path).unwrap();
        if fs::symlink_metadata(path).unwrap().is_dir() {
            for entry in fs::read_dir(path).unwrap() {
                give(&entry.unwrap().path());
            }
        }
    }

    #[test]
    fn a_copy_is_equal_sparse_and_the_accounts() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("db")).unwrap();
        fs::write(from.join("empty"), "").unwrap();
        fs::write(from.join("db/t.ibd"), b"rows").unwrap();
        fs::set_permissions(from.join("db"), fs::Permissions::from_mode(0o750)).unwrap();
        let sparse = File::create(from.join("ibdata1")).unwrap();
        sparse.set_len(64 << 20).unwrap();
        sparse.write_all_at(b"middle", 32 << 20).unwrap();
        let socket = std::os::unix::net::UnixListener::bind(from.join("s.sock")).unwrap();
        give(&from);
        let copied = copy_dir(&from, &to, &account(), &NEVER).unwrap();
        drop(socket);
        assert_eq!(fs::read(to.join("db/t.ibd")).unwrap(), b"rows");
        assert_eq!(fs::read(to.join("empty")).unwrap(), b"");
        assert!(!to.join("s.sock").exists());
        assert!(fs::read(from.join("ibdata1")).unwrap() == fs::read(to.join("ibdata1")).unwrap());
        assert!(copied.bytes < 1 << 20, "{copied:?}");
        let meta = fs::metadata(to.join("ibdata1")).unwrap();
        assert!(meta.blocks() * 512 < 1 << 20);
        assert_eq!(fs::metadata(to.join("db")).unwrap().mode() & 0o777, 0o750);
        let owner = fs::metadata(to.join("db/t.ibd")).unwrap().uid();
        let own = rustix::process::geteuid().as_raw();
        assert_eq!(owner == own, account().other_name().is_none());
    }

    #[test]
    fn a_copy_ends_when_the_user_asks() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        for name in ["one", "two"] {
            fs::write(from.join(name), vec![1; 1 << 20]).unwrap();
        }
        give(&from);
        let asked = AtomicBool::new(true);
        let copied = copy_dir(&from, &to, &account(), &asked);
        assert!(copied.is_err_and(|error| error.is_interrupted()));
        assert_eq!(fs::read_dir(&to).unwrap().count(), 1);
    }

    #[test]
    fn an_existing_target_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        let error = copy_dir(&from, &to, &account(), &NEVER).unwrap_err();
        assert!(error.to_string().contains("File exists"), "{error}");
    }

    /// Accounts can create links in their data, and root must not follow them to other users'
    /// files.
    #[test]
    fn links_out_of_the_data_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let secret = dir.path().join("secret");
        fs::write(&secret, "secret").unwrap();
        let from = dir.path().join("from");
        fs::create_dir(&from).unwrap();
        fs::write(from.join("ibdata1"), "rows").unwrap();
        symlink(&secret, from.join("link")).unwrap();
        symlink(dir.path(), from.join("dir")).unwrap();
        give(&from);
        let to = dir.path().join("to");
        copy_dir(&from, &to, &account(), &NEVER).unwrap();
        let copied: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        assert_eq!(copied, ["ibdata1"]);

        // A link in place of the data directory.
        let link = dir.path().join("data");
        symlink(dir.path(), &link).unwrap();
        copy_dir(&link, &dir.path().join("to2"), &account(), &NEVER).unwrap_err();

        // A hard link to a file that belongs to root.
        if account().other_name().is_some() {
            fs::hard_link(&secret, from.join("ib_logfile0")).unwrap();
            let error = copy_dir(&from, &dir.path().join("to3"), &account(), &NEVER).unwrap_err();
            assert!(error.message.contains("belongs to user 0;"), "{error}");
            assert!(!dir.path().join("to3/ib_logfile0").exists());
        }
    }

    /// While it is copied, an account keeps replacing a file and a directory with links and back.
    #[test]
    fn a_file_that_becomes_a_link_is_not_copied() {
        let (dir, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(other.path().join("file"), "secret").unwrap();
        let from = dir.path().join("from");
        fs::create_dir_all(from.join("sub")).unwrap();
        fs::write(from.join("file"), "rows").unwrap();
        fs::write(from.join("sub/file"), "rows").unwrap();
        give(&from);
        let exchange = |name: &str, target: &Path| {
            let aside = dir.path().join(format!("aside-{name}"));
            fs::rename(from.join(name), &aside).unwrap();
            symlink(target, from.join(name)).unwrap();
            fs::remove_file(from.join(name)).unwrap();
            fs::rename(&aside, from.join(name)).unwrap();
        };
        let is_done = std::sync::atomic::AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(std::sync::atomic::Ordering::Relaxed) {
                    exchange("file", &other.path().join("file"));
                    exchange("sub", other.path());
                }
            });
            for round in 0..300 {
                let to = dir.path().join(format!("to{round}"));
                // Fails if an entry disappears in between.
                let _ = copy_dir(&from, &to, &account(), &NEVER);
                for name in ["file", "sub/file"] {
                    let text = fs::read(to.join(name)).unwrap_or_default();
                    assert!(text.is_empty() || text == b"rows", "{text:?}");
                }
            }
            is_done.store(true, std::sync::atomic::Ordering::Relaxed);
        });
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn any_pattern_of_holes_is_copied(
            len in 0_u64..3_000_000,
            pieces in prop::collection::vec((0_u64..3_000_000, prop::collection::vec(any::<u8>(), 1..9000)), 0..6),
        ) {
            let dir = tempfile::tempdir().unwrap();
            let (from, to) = (dir.path().join("from"), dir.path().join("to"));
            fs::create_dir(&from).unwrap();
            let file = File::create(from.join("f")).unwrap();
            file.set_len(len).unwrap();
            for (at, bytes) in pieces {
                file.write_all_at(&bytes, at).unwrap();
            }
            give(&from);
            copy_dir(&from, &to, &account(), &NEVER).unwrap();
            prop_assert!(fs::read(from.join("f")).unwrap() == fs::read(to.join("f")).unwrap());
            let whole = File::create(dir.path().join("whole")).unwrap();
            let source = File::open(from.join("f")).unwrap();
            copy_range(&source, &whole, 0, source.metadata().unwrap().len()).unwrap();
            prop_assert!(fs::read(from.join("f")).unwrap() == fs::read(dir.path().join("whole")).unwrap());
        }
    }
}
