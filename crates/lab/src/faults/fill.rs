//! Fills a disk.

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::Failure;
use crate::failure::unless_canceled;

/// How much is allocated at once to fill a disk, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

/// Fills a file system with this new file, in ever smaller parts.
pub(super) fn fill_disk(mut file: File, path: &Path, over: &AtomicBool) -> Result<(), Failure> {
    let failed = |error: io::Error| Failure::at("fill the disk with", path)(error);
    let (mut length, mut part) = (0, LARGEST_BYTES);
    while part >= SMALLEST_BYTES {
        unless_canceled(over)?;
        match fallocate(&file, FallocateFlags::empty(), length, part) {
            Ok(()) => length += part,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => part /= 2,
            Err(Errno::OPNOTSUPP) => {
                write_zeros(&mut file, over).map_err(failed)?;
                return unless_canceled(over);
            }
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

/// For file systems that cannot allocate space without writing.
fn write_zeros(file: &mut File, over: &AtomicBool) -> io::Result<()> {
    let zeros = vec![0; 1 << 20];
    while !over.load(Ordering::Relaxed) {
        match file.write(&zeros) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => break,
                _ => return Err(error),
            },
        }
    }
    Ok(())
}
