//! Linux's native asynchronous I/O (io_submit(2)), which sysbench uses through libaio.
#![expect(
    unsafe_code,
    reason = "neither std nor rustix has these system calls, which read and write structures"
)]

use std::ffi::{c_long, c_ulong};
use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use libc::{SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit};

use super::schedule::Place;
use crate::native::period::Counts;
use crate::native::region::Pages;

/// Requests in flight. They share a buffer: nobody looks at what was read, as in sysbench.
#[derive(Debug)]
pub(crate) struct Queue {
    context: c_ulong,
    buffer: Pages,
    pending: usize,
    /// As many as may be in flight.
    completions: Vec<Completion>,
}

/// `struct iocb` of the kernel.
#[repr(C)]
#[derive(Debug, Default)]
struct Request {
    data: u64,
    key_and_flags: u64,
    operation: u16,
    priority: u16,
    file: u32,
    buffer: u64,
    bytes: u64,
    offset: u64,
    unused: [u64; 2],
}

/// `struct io_event` of the kernel.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct Completion {
    /// Twice the number of bytes; plus 1 if they were written.
    data: u64,
    request: u64,
    result: i64,
    result_2: i64,
}

impl Queue {
    /// For `capacity` requests, each of at most the size of the buffer.
    pub(crate) fn new(capacity: u32, buffer: Pages) -> io::Result<Self> {
        let capacity = capacity.max(1);
        let mut context: c_ulong = 0;
        let (count, to) = (c_long::from(capacity as i32), &raw mut context);
        // SAFETY: the kernel writes the number of the new context.
        check(unsafe { libc::syscall(SYS_io_setup, count, to) })?;
        Ok(Self {
            context,
            buffer,
            pending: 0,
            completions: vec![Completion::default(); capacity as usize],
        })
    }

    /// Submits a request, then waits until another one may be submitted. Counts those that end.
    pub(crate) fn submit(
        &mut self,
        file: &File,
        place: Place,
        writes: bool,
        counts: &mut Counts,
    ) -> io::Result<()> {
        let bytes = place.bytes as u64;
        let mut request = Request {
            data: bytes * 2 + u64::from(writes),
            operation: writes.into(),
            file: file.as_raw_fd().cast_unsigned(),
            buffer: self.buffer.address(place.bytes)? as u64,
            bytes,
            offset: place.offset,
            ..Request::default()
        };
        let (one, requests): (c_long, _) = (1, &raw mut request);
        // SAFETY: the kernel reads the request now. The buffer has room for it and lives until
        // `drop` has waited for what is in flight; meanwhile no reference to its bytes exists.
        check(unsafe { libc::syscall(SYS_io_submit, self.context, one, &raw const requests) })?;
        self.pending += 1;
        self.wait(self.completions.len() - 1, counts)
    }

    /// Waits until at most so many requests are in flight.
    pub(crate) fn wait(&mut self, pending: usize, counts: &mut Counts) -> io::Result<()> {
        while self.pending > pending {
            let (least, most) = (self.pending - pending, self.completions.len());
            let (least, most) = (least as c_long, most as c_long);
            let (to, no_limit) = (self.completions.as_mut_ptr(), null_mut::<libc::timespec>());
            // SAFETY: the kernel writes at most as many completions as there is room for.
            let ended = check(unsafe {
                libc::syscall(SYS_io_getevents, self.context, least, most, to, no_limit)
            });
            let ended = match ended {
                Err(error) if error.kind() == ErrorKind::Interrupted => 0,
                ended => ended?,
            };
            self.pending = self.pending.saturating_sub(ended);
            for completion in self.completions.iter().take(ended) {
                completion.count(counts)?;
            }
        }
        Ok(())
    }
}

impl Completion {
    fn count(&self, counts: &mut Counts) -> io::Result<()> {
        let bytes = self.data / 2;
        if self.result == bytes as i64 {
            counts.add(self.data % 2 == 1, bytes);
            return Ok(());
        }
        Err(match i32::try_from(self.result.wrapping_neg()) {
            Ok(code) if code > 0 => io::Error::from_raw_os_error(code),
            _ => ErrorKind::UnexpectedEof.into(),
        })
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the context is the queue's own. The call returns when nothing is in flight.
        unsafe { libc::syscall(SYS_io_destroy, self.context) };
    }
}

/// The number that a system call returned.
fn check(returned: c_long) -> io::Result<usize> {
    usize::try_from(returned).map_err(|_| io::Error::last_os_error())
}
