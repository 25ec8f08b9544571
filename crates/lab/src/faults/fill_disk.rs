//! Fills the file system that a node's data is on, with a file in the node's own directory there.

use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{FallocateFlags, fallocate};
use rustix::io::Errno;

use crate::failure::{Failure, canceled};

/// How much is allocated at once, at first and in the end.
const LARGEST_BYTES: u64 = 1 << 30;
const SMALLEST_BYTES: u64 = 4 << 10;

/// Fills a file system with a new file, in ever smaller parts.
pub(super) fn fill(path: &Path, over: &AtomicBool) -> Result<(), Failure> {
    let failed = |error: std::io::Error| Failure::at("fill the disk with", path)(error);
    let mut file = File::create_new(path).map_err(failed)?;
    let (mut length, mut part) = (0, LARGEST_BYTES);
    while part >= SMALLEST_BYTES {
        if over.load(Ordering::Relaxed) {
            return Err(canceled());
        }
        match fallocate(&file, FallocateFlags::empty(), length, part) {
            Ok(()) => length += part,
            Err(Errno::INTR) => {}
            Err(Errno::NOSPC | Errno::DQUOT | Errno::FBIG) => part /= 2,
            Err(Errno::OPNOTSUPP) => return write_zeros(&mut file, over).map_err(failed),
            Err(error) => return Err(failed(error.into())),
        }
    }
    Ok(())
}

/// For file systems that cannot allocate space without writing.
fn write_zeros(file: &mut File, over: &AtomicBool) -> std::io::Result<()> {
    let zeros = vec![0; 1 << 20];
    while !over.load(Ordering::Relaxed) {
        match file.write(&zeros) {
            Ok(0) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.kind() == std::io::ErrorKind::StorageFull => return Ok(()),
            Err(error) if error.kind() == std::io::ErrorKind::QuotaExceeded => return Ok(()),
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

pub(super) fn no_disk() -> Failure {
    let message = "dyno fills only a disk that the study names: make one with volume.filesystem, or set \
                   volume.directory to a directory on a disk of its own";
    Failure::server(message)
}
