//! Kernel timers that wake an event loop.

use std::io::{Error, Result};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Interest, Registry, Token};
use rustix::time::{
    Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_settime,
};

/// A timerfd (timerfd_create(2)) in an event loop.
#[derive(Debug)]
pub(super) struct TimerFd(pub(super) OwnedFd);

impl TimerFd {
    /// A timer that is not set. When it expires, `registry` reports `token`.
    pub(super) fn new(clock: TimerfdClockId, registry: &Registry, token: Token) -> Result<Self> {
        let fd = timerfd_create(clock, TimerfdFlags::NONBLOCK | TimerfdFlags::CLOEXEC)?;
        registry.register(&mut SourceFd(&fd.as_raw_fd()), token, Interest::READABLE)?;
        Ok(Self(fd))
    }

    /// Makes the timer expire once: after `time`, or at that time of its clock, depending on
    /// `flags`.
    pub(super) fn set(&self, time: Duration, flags: TimerfdTimerFlags) -> Result<()> {
        let setting = Itimerspec {
            it_interval: Timespec::default(),
            it_value: Timespec::try_from(time).map_err(Error::other)?,
        };
        timerfd_settime(&self.0, flags, &setting)?;
        Ok(())
    }
}
