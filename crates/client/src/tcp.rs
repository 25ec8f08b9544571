//! A TCP socket that knows when the bytes that it read arrived, by the kernel's time stamp.
//!
//! With `SO_TIMESTAMPNS` (socket(7)), the kernel records the wall clock when a packet reaches this
//! host, before any program is woken, and `recvmsg` returns the stamp of the last packet that it
//! took bytes from. std and rustix support neither the option nor its control message, so this file
//! makes both system calls itself.

use std::cell::Cell;
use std::io::{Error, IoSliceMut, Read, Result, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::ptr;

use mio::net::TcpStream;
use rustix::net::SendFlags;

use crate::reactor::WallTime;

/// A TCP socket; [`TcpSocket::stamp_arrivals`] turns its stamps on.
#[derive(Debug)]
pub(crate) struct TcpSocket {
    /// The stream without time stamps.
    pub(crate) stream: TcpStream,
    stamps: Cell<bool>,
    /// When the last byte of the last read reached this host; `None` if the kernel did not stamp it.
    pub(crate) arrived: Cell<Option<WallTime>>,
}

impl TcpSocket {
    pub(crate) fn new(stream: TcpStream) -> Self {
        Self {
            stream,
            stamps: Cell::new(false),
            arrived: Cell::new(None),
        }
    }

    pub(crate) fn stamp_arrivals(&self) -> Result<()> {
        enable_stamps(self.stream.as_raw_fd())?;
        self.stamps.set(true);
        Ok(())
    }
}

impl Read for &TcpSocket {
    #[inline]
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
        if !self.stamps.get() {
            return (&self.stream).read(buffer);
        }
        let received = receive(self.stream.as_raw_fd(), buffer);
        // The stamp of an earlier reply is older than the statement, and would be reported as a change
        // of the clock.
        let (length, arrived) = received.inspect_err(|_| self.arrived.set(None))?;
        self.arrived.set(arrived);
        Ok(length)
    }
}

impl Write for &TcpSocket {
    #[inline]
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        // libc's send checks for thread cancellation before and after each call.
        Ok(rustix::net::send(&self.stream, bytes, SendFlags::NOSIGNAL)?)
    }

    fn flush(&mut self) -> Result<()> {
        (&self.stream).flush()
    }
}

impl AsFd for TcpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[expect(
    unsafe_code,
    reason = "neither std nor rustix can set SO_TIMESTAMPNS; the call only reads an integer"
)]
fn enable_stamps(socket: RawFd) -> Result<()> {
    let on: libc::c_int = 1;
    // SAFETY: the pointer and the size are those of `on`, which outlives the call.
    let failed = unsafe {
        libc::setsockopt(
            socket,
            libc::SOL_SOCKET,
            libc::SO_TIMESTAMPNS,
            (&raw const on).cast(),
            size_of_val(&on) as libc::socklen_t,
        )
    };
    match failed {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

/// Room for one control message that holds a `timespec`, aligned as its header.
const CONTROL_WORDS: usize = 4;

/// Reads the socket once; returns the number of bytes and the kernel's stamp of the last.
#[expect(
    unsafe_code,
    reason = "rustix's recvmsg drops control messages other than descriptors and credentials"
)]
#[inline]
fn receive(socket: RawFd, buffer: &mut [u8]) -> Result<(usize, Option<WallTime>)> {
    let mut bytes = IoSliceMut::new(buffer);
    let mut control = [0_u64; CONTROL_WORDS];
    // SAFETY: a msghdr is plain data for which all zeroes is valid; its fields are
    // private on some systems, so it cannot be written as a literal.
    let mut message: libc::msghdr = unsafe { std::mem::zeroed() };
    // IoSliceMut is guaranteed to have the layout of iovec.
    message.msg_iov = (&raw mut bytes).cast();
    message.msg_iovlen = 1;
    message.msg_control = control.as_mut_ptr().cast();
    message.msg_controllen = size_of_val(&control) as _;
    // SAFETY: `message` describes `buffer` and `control`, both alive and exclusively
    // borrowed for the length of the call.
    // libc's recvmsg checks for thread cancellation before and after each call.
    let length = unsafe { libc::syscall(libc::SYS_recvmsg, socket, &raw mut message, 0) };
    let length = usize::try_from(length).map_err(|_| Error::last_os_error())?;
    // SAFETY: the kernel has filled `message` and `control`: CMSG_FIRSTHDR gives null or
    // a header that lies in `control` whole, and its length is checked before its data,
    // which may be unaligned, is read as what SCM_TIMESTAMPNS holds.
    let stamp = unsafe {
        let header = libc::CMSG_FIRSTHDR(&raw const message);
        let is_stamp = !header.is_null()
            && (*header).cmsg_level == libc::SOL_SOCKET
            && (*header).cmsg_type == libc::SCM_TIMESTAMPNS
            && (*header).cmsg_len as usize >= libc::CMSG_LEN(STAMP_BYTES) as usize;
        is_stamp.then(|| ptr::read_unaligned(libc::CMSG_DATA(header).cast::<libc::timespec>()))
    };
    Ok((length, stamp.and_then(wall_time)))
}

const STAMP_BYTES: u32 = size_of::<libc::timespec>() as u32;

#[inline]
fn wall_time(stamp: libc::timespec) -> Option<WallTime> {
    let seconds = u64::try_from(stamp.tv_sec).ok()?;
    let ns = u64::try_from(stamp.tv_nsec).ok()?;
    let epoch_ns = seconds.checked_mul(1_000_000_000)?.checked_add(ns)?;
    Some(WallTime(epoch_ns))
}
