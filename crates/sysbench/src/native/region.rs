//! Mapped memory: pages that are zeroed or huge, and those of files.
#![expect(
    unsafe_code,
    reason = "std maps no memory, and aligns none to pages as direct I/O demands"
)]

use std::io::{ErrorKind, Result};
use std::os::fd::AsFd;
use std::ptr::{copy_nonoverlapping, null_mut};
use std::slice;
use std::sync::atomic::AtomicU64;

use rustix::mm::{MapFlags, MsyncFlags, ProtFlags, mmap, mmap_anonymous, msync, munmap};

/// Zeroed pages of this process.
#[derive(Debug)]
pub(crate) struct Pages(Mapping);

/// The first pages of a file, shared with all who open it.
#[derive(Debug)]
pub(crate) struct FileMap(Mapping);

#[derive(Debug)]
struct Mapping {
    start: *mut u8,
    length: usize,
}

// SAFETY: no thread owns a mapping; any may use and unmap it.
unsafe impl Send for Mapping {}
// SAFETY: `Pages` shares only atomic words, and `FileMap` no reference at all.
unsafe impl Sync for Mapping {}

impl Pages {
    /// The smallest number of pages with this many bytes; `flags` may ask for huge ones.
    pub(crate) fn new(length: usize, flags: MapFlags) -> Result<Self> {
        let (access, flags) = (ProtFlags::READ | ProtFlags::WRITE, flags | MapFlags::PRIVATE);
        // SAFETY: the kernel chooses an address that is not in use.
        let start = unsafe { mmap_anonymous(null_mut(), length, access, flags)? };
        let start = start.cast();
        Ok(Self(Mapping { start, length }))
    }

    pub(crate) fn words(&self) -> &[AtomicU64] {
        let words = self.0.length / size_of::<AtomicU64>();
        // SAFETY: pages are aligned and initialized, and any bytes are valid words. While they are
        // borrowed, all other references are to the same words.
        unsafe { slice::from_raw_parts(self.0.start.cast::<AtomicU64>(), words) }
    }

    /// The first bytes; all if there are not as many.
    pub(crate) fn bytes(&mut self, count: usize) -> &mut [u8] {
        let count = count.min(self.0.length);
        // SAFETY: pages are initialized, and the exclusive borrow is the only reference to them.
        unsafe { slice::from_raw_parts_mut(self.0.start, count) }
    }

    /// Where the first bytes are, for the kernel. Fails if there are not as many.
    pub(crate) fn address(&mut self, bytes: usize) -> Result<*mut u8> {
        self.0.at(0, bytes)
    }
}

impl FileMap {
    /// The file must have this many bytes as long as they are accessed.
    pub(crate) fn new(file: impl AsFd, length: usize) -> Result<Self> {
        let access = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the kernel chooses an address that is not in use.
        let start = unsafe { mmap(null_mut(), length, access, MapFlags::SHARED, file, 0)? };
        let start = start.cast();
        Ok(Self(Mapping { start, length }))
    }

    pub(crate) fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<()> {
        let from = self.0.at(offset, bytes.len())?;
        // SAFETY: both ranges are valid, and a new mapping overlaps no other memory. Like processes
        // that share a file, threads may race for it; that only mixes bytes, all of them valid.
        unsafe { copy_nonoverlapping(from, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    pub(crate) fn write(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        let to = self.0.at(offset, bytes.len())?;
        // SAFETY: see `read`.
        unsafe { copy_nonoverlapping(bytes.as_ptr(), to, bytes.len()) };
        Ok(())
    }

    /// Writes what was changed to the file's device.
    pub(crate) fn sync(&self) -> Result<()> {
        let flags = MsyncFlags::SYNC | MsyncFlags::INVALIDATE;
        // SAFETY: the range is the mapping; no contents change.
        Ok(unsafe { msync(self.0.start.cast(), self.0.length, flags) }?)
    }
}

impl Mapping {
    fn at(&self, offset: u64, length: usize) -> Result<*mut u8> {
        match (offset as usize).checked_add(length) {
            // SAFETY: the sum, and so the offset, is inside the mapping.
            Some(end) if end <= self.length => Ok(unsafe { self.start.add(offset as usize) }),
            _ => Err(ErrorKind::UnexpectedEof.into()),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // Huge pages stay until the process ends unless the length is a multiple of theirs.
        // SAFETY: the range was mapped by `new`, and whoever borrowed from it is gone.
        let _ = unsafe { munmap(self.start.cast(), self.length) };
    }
}
