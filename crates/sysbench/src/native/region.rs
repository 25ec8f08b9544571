//! Mapped memory. It stays mapped until the process ends, which runs one test.
#![expect(
    unsafe_code,
    reason = "std maps no memory, and aligns none to pages as direct I/O demands"
)]

use std::fs::File;
use std::io::{ErrorKind, Result};
use std::ptr::{copy_nonoverlapping, null_mut};
use std::slice;
use std::sync::atomic::{AtomicU8, AtomicU64};

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, mmap_anonymous, msync};

const ACCESS: ProtFlags = ProtFlags::READ.union(ProtFlags::WRITE);

/// The first bytes of a file, shared with all who open it.
#[derive(Clone, Copy)]
pub(super) struct FileMap(&'static [AtomicU8]);

/// Zeroed pages, each in memory of its own: pages that were never written share one.
fn pages(bytes: usize, flags: MapFlags) -> Result<*mut u8> {
    let flags = flags | MapFlags::PRIVATE | MapFlags::POPULATE;
    // SAFETY: the kernel chooses an address that is not in use.
    let start = unsafe { mmap_anonymous(null_mut(), bytes, ACCESS, flags)? };
    Ok(start.cast())
}

pub(super) fn words(bytes: u64, has_huge_pages: bool) -> Result<&'static [AtomicU64]> {
    let mut flags = MapFlags::empty();
    flags.set(MapFlags::HUGETLB, has_huge_pages);
    let (start, words) = (pages(bytes as usize, flags)?, bytes as usize / 8);
    // SAFETY: the pages are aligned and zeroed, stay mapped, and are referred to nowhere else.
    Ok(unsafe { slice::from_raw_parts(start.cast(), words) })
}

/// A buffer that is aligned to a page.
pub(super) fn buffer(bytes: usize) -> Result<&'static mut [u8]> {
    let start = pages(bytes, MapFlags::empty())?;
    // SAFETY: the pages are zeroed, stay mapped, and are referred to nowhere else.
    Ok(unsafe { slice::from_raw_parts_mut(start, bytes) })
}

impl FileMap {
    /// Extends the file to this many bytes, which it must have as long as they are accessed.
    pub(super) fn new(file: &File, bytes: u64) -> Result<Self> {
        if file.metadata()?.len() < bytes {
            file.set_len(bytes)?;
        }
        let bytes = bytes as usize;
        // SAFETY: the kernel chooses an address that is not in use.
        let start = unsafe { mmap(null_mut(), bytes, ACCESS, MapFlags::SHARED, file, 0)? };
        // SAFETY: any bytes are valid, and they stay mapped.
        Ok(Self(unsafe { slice::from_raw_parts(start.cast(), bytes) }))
    }

    /// Reads a part of the file into the buffer, or writes it.
    pub(super) fn transfer(self, offset: u64, buffer: &mut [u8], writes: bool) -> Result<()> {
        let rest = self.0.get(offset as usize..).unwrap_or_default();
        let part = rest.get(..buffer.len()).ok_or(ErrorKind::UnexpectedEof)?;
        let (file, memory) = (part.as_ptr().cast_mut().cast(), buffer.as_mut_ptr());
        let (from, to) = if writes {
            (memory, file)
        } else {
            (file, memory)
        };
        // SAFETY: both ranges are valid, and a mapping overlaps no other memory. Atomic bytes may
        // be written. Like processes that share a file, threads may race for it; that only mixes
        // bytes, all of them valid.
        unsafe { copy_nonoverlapping(from.cast_const(), to, buffer.len()) };
        Ok(())
    }

    /// Writes what was changed to the file's device.
    pub(super) fn sync(self) -> Result<()> {
        let start = self.0.as_ptr().cast_mut().cast();
        let flags = MsyncFlags::SYNC | MsyncFlags::INVALIDATE;
        // SAFETY: the range is mapped; no contents change.
        Ok(unsafe { msync(start, self.0.len(), flags) }?)
    }
}
