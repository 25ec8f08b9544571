//! Copies a data directory: shares the blocks where the file system can, else copies
//! what is not a hole.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{SeekFrom, copy_file_range, ioctl_ficlone, seek};
use rustix::io::Errno;

use crate::account::Account;
use crate::error::LabError;

/// The most that one call is asked to copy; the kernel takes no more than 2 GiB.
const STEP_BYTES: u64 = 1 << 30;

/// What was copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Copied {
    /// The files' contents, holes not counted.
    pub bytes: u64,
    /// How long it took.
    pub took: Duration,
    /// Every block is shared with the original until one of them is written.
    pub is_shared: bool,
}

/// Copies the directory `from` to `to`, which must not exist, for `account`. Only
/// files and directories are copied; a data directory holds nothing else that lasts.
///
/// # Errors
/// The operating system's, of which a full disk is one; half a copy is left then.
pub(crate) fn copy_dir(from: &Path, to: &Path, account: &Account) -> Result<Copied, LabError> {
    let begun = Instant::now();
    let mut copy = Copy {
        account,
        bytes: 0,
        shares: true,
    };
    copy.dir(from, to)?;
    Ok(Copied {
        bytes: copy.bytes,
        took: begun.elapsed(),
        is_shared: copy.shares,
    })
}

struct Copy<'a> {
    account: &'a Account,
    bytes: u64,
    /// False once the file system has said that it cannot.
    shares: bool,
}

impl Copy<'_> {
    fn dir(&mut self, from: &Path, to: &Path) -> Result<(), LabError> {
        let mode = fs::metadata(from)
            .map_err(LabError::at("read", from))?
            .mode();
        // Nobody enters it before it is whole.
        DirBuilder::new()
            .mode(0o700)
            .create(to)
            .map_err(LabError::at("make", to))?;
        for entry in fs::read_dir(from).map_err(LabError::at("read", from))? {
            let entry = entry.map_err(LabError::at("read", from))?;
            let kind = entry.file_type().map_err(LabError::at("read", from))?;
            let (from, to) = (entry.path(), to.join(entry.file_name()));
            if kind.is_dir() {
                self.dir(&from, &to)?;
            } else if kind.is_file() {
                self.file(&from, &to)?;
            }
        }
        let opened = File::open(to).map_err(LabError::at("open", to))?;
        self.hand_over(&opened, mode)
            .map_err(LabError::at("hand over", to))
    }

    fn file(&mut self, from: &Path, to: &Path) -> Result<(), LabError> {
        let source = File::open(from).map_err(LabError::at("read", from))?;
        let meta = source.metadata().map_err(LabError::at("read", from))?;
        let target = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(to)
            .map_err(LabError::at("make", to))?;
        self.content(&source, &target, &meta)
            .map_err(|error| LabError::at("copy", to)(error.into()))?;
        self.hand_over(&target, meta.mode())
            .map_err(LabError::at("hand over", to))
    }

    fn hand_over(&self, file: &File, mode: u32) -> io::Result<()> {
        self.account.own_file(file)?;
        rustix::fs::fchmod(file, rustix::fs::Mode::from_raw_mode(mode & 0o777))?;
        Ok(())
    }

    fn content(&mut self, from: &File, to: &File, meta: &fs::Metadata) -> Result<(), Errno> {
        if meta.len() == 0 {
            return Ok(());
        }
        if self.shares {
            match ioctl_ficlone(to, from) {
                Ok(()) => {
                    self.bytes += meta.len().min(meta.blocks() * 512);
                    return Ok(());
                }
                Err(Errno::NOSPC) => return Err(Errno::NOSPC),
                // Not this file system, or not between these two.
                Err(_) => self.shares = false,
            }
        }
        rustix::fs::ftruncate(to, meta.len())?;
        let mut at = 0;
        while let Some((start, end)) = next_data(from, at, meta.len())? {
            copy_range(from, to, start, end)?;
            self.bytes += end - start;
            at = end;
        }
        Ok(())
    }
}

/// The first stretch of the file from `at` on that is not a hole.
fn next_data(file: &File, at: u64, len: u64) -> Result<Option<(u64, u64)>, Errno> {
    if at >= len {
        return Ok(None);
    }
    let start = match seek(file, SeekFrom::Data(at)) {
        Ok(start) => start,
        Err(Errno::NXIO) => return Ok(None),
        // A file system that knows no holes.
        Err(Errno::INVAL) => return Ok(Some((at, len))),
        Err(error) => return Err(error),
    };
    let end = seek(file, SeekFrom::Hole(start))?;
    Ok(Some((start, end.min(len))))
}

fn copy_range(from: &File, to: &File, start: u64, end: u64) -> Result<(), Errno> {
    let (mut read_at, mut write_at) = (start, start);
    while read_at < end {
        let step = usize::try_from((end - read_at).min(STEP_BYTES)).unwrap_or(usize::MAX);
        match copy_file_range(from, Some(&mut read_at), to, Some(&mut write_at), step) {
            // Shorter than it was: there is no more to copy.
            Ok(0) => return Ok(()),
            Ok(_) | Err(Errno::INTR) => {}
            // Between file systems, or on one that cannot.
            Err(Errno::XDEV | Errno::NOSYS | Errno::INVAL | Errno::OPNOTSUPP) => {
                return copy_by_hand(from, to, read_at, end);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn copy_by_hand(from: &File, to: &File, start: u64, end: u64) -> Result<(), Errno> {
    let copied = || -> io::Result<u64> {
        let (mut from, mut to) = (from, to);
        io::Seek::seek(&mut from, io::SeekFrom::Start(start))?;
        io::Seek::seek(&mut to, io::SeekFrom::Start(start))?;
        io::copy(&mut io::Read::take(from, end - start), &mut to)
    };
    match copied() {
        Ok(_) => Ok(()),
        Err(error) => Err(Errno::from_io_error(&error).unwrap_or(Errno::IO)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::os::unix::fs::{FileExt, PermissionsExt};

    fn account() -> Account {
        Account::for_servers().unwrap()
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
        let copied = copy_dir(&from, &to, &account()).unwrap();
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
    fn nothing_is_ever_copied_over_something() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir(&from).unwrap();
        fs::create_dir(&to).unwrap();
        let error = copy_dir(&from, &to, &account()).unwrap_err();
        assert!(error.to_string().contains("File exists"), "{error}");
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
            copy_dir(&from, &to, &account()).unwrap();
            prop_assert!(fs::read(from.join("f")).unwrap() == fs::read(to.join("f")).unwrap());
            let by_hand = File::create(dir.path().join("by-hand")).unwrap();
            let source = File::open(from.join("f")).unwrap();
            copy_by_hand(&source, &by_hand, 0, source.metadata().unwrap().len()).unwrap();
            prop_assert!(fs::read(from.join("f")).unwrap() == fs::read(dir.path().join("by-hand")).unwrap());
        }
    }
}
