//! Linux's native asynchronous I/O (io_submit(2)), which sysbench uses through libaio.
#![expect(
    unsafe_code,
    reason = "neither std nor rustix has these system calls, which read and write structures"
)]

use std::ffi::{c_long, c_ulong};
use std::fs::File;
use std::io::{Error, ErrorKind, Result};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;

use libc::{SYS_io_destroy, SYS_io_getevents, SYS_io_setup, SYS_io_submit, syscall, timespec};

use super::schedule::Place;
use crate::native::region;

/// Requests in flight. They share a buffer: nobody looks at what was read, as in sysbench.
pub(super) struct Queue {
    context: c_ulong,
    buffer: &'static mut [u8],
    in_flight: u32,
    capacity: u32,
}

impl Queue {
    /// For `capacity` requests, at least one, each of at most `bytes`.
    pub(super) fn new(capacity: u32, bytes: usize) -> Result<Self> {
        let mut queue = Self {
            context: 0,
            buffer: region::buffer(bytes)?,
            in_flight: 0,
            capacity,
        };
        let (count, to) = (capacity as c_long, &raw mut queue.context);
        // SAFETY: the kernel writes the number of the new context.
        check(unsafe { syscall(SYS_io_setup, count, to) })?;
        Ok(queue)
    }

    /// Submits a request, then waits until another one may be submitted.
    pub(super) fn submit(&mut self, file: &File, place: Place, writes: bool) -> Result<()> {
        let bytes = place.bytes.min(self.buffer.len()) as u64;
        let buffer = self.buffer.as_mut_ptr() as u64;
        // The operation in 16 bits, 16 that are 0, and the file, with the lowest byte first.
        let what = u64::from(writes) | (u64::from(file.as_raw_fd().cast_unsigned()) << 32);
        // `struct iocb` of the kernel. Its first number comes back with the completion.
        let mut request = [bytes, 0, what, buffer, bytes, place.offset, 0, 0];
        let (one, requests): (c_long, _) = (1, &raw mut request);
        // SAFETY: the kernel reads the request now. Its buffer is never freed, and no reference to
        // the bytes is used.
        check(unsafe { syscall(SYS_io_submit, self.context, one, &raw const requests) })?;
        self.in_flight += 1;
        self.wait(self.capacity - 1)
    }

    /// Waits until at most so many requests are in flight.
    pub(super) fn wait(&mut self, in_flight: u32) -> Result<()> {
        while self.in_flight > in_flight {
            // `struct io_event` of the kernel.
            let (one, mut ended): (c_long, [i64; 4]) = (1, [0; 4]);
            let (to, no_limit) = (&raw mut ended, null_mut::<timespec>());
            // SAFETY: the kernel writes one completion.
            let waited = unsafe { syscall(SYS_io_getevents, self.context, one, one, to, no_limit) };
            match check(waited) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                waited => waited?,
            }
            self.in_flight -= 1;
            let [bytes, _, result, _] = ended;
            match result {
                0.. if result < bytes => return Err(ErrorKind::UnexpectedEof.into()),
                0.. => {}
                _ => return Err(Error::from_raw_os_error(-result as i32)),
            }
        }
        Ok(())
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: the context is the queue's own. The call returns when nothing is in flight.
        unsafe { syscall(SYS_io_destroy, self.context) };
    }
}

fn check(returned: c_long) -> Result<()> {
    match returned {
        0.. => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}
