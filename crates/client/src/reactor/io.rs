//! Sockets that tasks wait for.

use std::future::poll_fn;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use mio::{Interest, Token};

use super::{Inner, WallTime};

/// What is known of a socket since its last edge, and who waits for it.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    readable: bool,
    writable: bool,
    /// The peer has closed: no further edge will come, so reads must be tried.
    closed: bool,
    reader: Option<Waker>,
    writer: Option<Waker>,
}

impl Readiness {
    pub(super) fn event(&mut self, event: &mio::event::Event) {
        let failed = event.is_error();
        self.closed |= event.is_read_closed() || failed;
        if event.is_readable() || event.is_read_closed() || failed {
            self.readable = true;
            wake(&self.reader);
        }
        if event.is_writable() || event.is_write_closed() || failed {
            self.writable = true;
            wake(&self.writer);
        }
    }
}

fn wake(waiting: &Option<Waker>) {
    if let Some(waker) = waiting {
        waker.wake_by_ref();
    }
}

fn wait(place: &mut Option<Waker>, context: &Context<'_>) {
    match place {
        Some(waker) if waker.will_wake(context.waker()) => {}
        place => *place = Some(context.waker().clone()),
    }
}

/// A socket in the thread's event loop.
#[derive(Debug)]
pub struct Io<S: mio::event::Source> {
    socket: S,
    key: usize,
    reactor: Rc<Inner>,
}

impl<S: mio::event::Source> Io<S> {
    /// Puts a non-blocking socket into the event loop of this thread.
    ///
    /// # Errors
    /// When the system's event queue does not take it.
    pub fn new(mut socket: S) -> Result<Self> {
        let reactor = Inner::current();
        let key = reactor.sources.borrow_mut().insert(Readiness::default());
        let interest = Interest::READABLE | Interest::WRITABLE;
        if let Err(error) = reactor.registry.register(&mut socket, Token(key), interest) {
            reactor.sources.borrow_mut().remove(key);
            return Err(error);
        }
        Ok(Self {
            socket,
            key,
            reactor,
        })
    }

    /// The socket itself.
    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// The socket, for changing its options.
    pub(crate) fn socket_mut(&mut self) -> &mut S {
        &mut self.socket
    }

    /// Has the thread's event loop keep track of the wall clock.
    ///
    /// # Errors
    /// When the system gives no timer for it.
    pub(crate) fn watch_wall_clock(&self) -> Result<()> {
        self.reactor.watch_wall_clock()
    }

    /// The instant of a wall-clock time; `None` where the wall clock is not watched, and
    /// for a second after it was set.
    #[inline]
    pub(crate) fn instant(&self, wall: WallTime) -> Option<Instant> {
        self.reactor.wall_clock.get()?.instant(wall)
    }

    /// Waits until the socket can be written to (or has failed).
    pub async fn writable(&self) {
        poll_fn(|context| self.poll_writable(context)).await;
    }

    fn poll_writable(&self, context: &Context<'_>) -> Poll<()> {
        let mut sources = self.reactor.sources.borrow_mut();
        let readiness = &mut sources[self.key];
        if readiness.writable {
            return Poll::Ready(());
        }
        wait(&mut readiness.writer, context);
        Poll::Pending
    }

    fn poll_readable(&self, context: &Context<'_>) -> Poll<()> {
        let mut sources = self.reactor.sources.borrow_mut();
        let readiness = &mut sources[self.key];
        if readiness.readable {
            return Poll::Ready(());
        }
        wait(&mut readiness.reader, context);
        Poll::Pending
    }

    fn drained(&self) {
        let readiness = &mut self.reactor.sources.borrow_mut()[self.key];
        readiness.readable = readiness.closed;
    }
}

impl<S: mio::event::Source> Io<S>
where
    for<'a> &'a S: Read + Write,
{
    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The system's; `WriteZero` when the peer has closed.
    pub async fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            // Nearly always there is room, so it is tried first.
            match (&self.socket).write(bytes) {
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.reactor.sources.borrow_mut()[self.key].writable = false;
                    self.writable().await;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Waits for bytes and hands them to `take`, out of the thread's one buffer.
    ///
    /// # Errors
    /// The system's; `UnexpectedEof` when the peer has closed.
    pub async fn receive<R>(&self, mut take: impl FnMut(&[u8]) -> R) -> Result<R> {
        loop {
            poll_fn(|context| self.poll_readable(context)).await;
            let mut buffer = self.reactor.receive_buffer.borrow_mut();
            match (&self.socket).read(&mut buffer) {
                Ok(0) => {
                    return Err(Error::new(
                        ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    ));
                }
                Ok(length) => {
                    // A short read has emptied the socket: the next edge will tell
                    // of more (epoll(7)), and no read has to fail first.
                    if length < buffer.len() {
                        self.drained();
                    }
                    return Ok(take(&buffer[..length]));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.drained(),
                Err(error) => return Err(error),
            }
        }
    }
}

impl<S: mio::event::Source> Drop for Io<S> {
    fn drop(&mut self) {
        // The socket is closed right after, which also takes it off the queue.
        let _ = self.reactor.registry.deregister(&mut self.socket);
        self.reactor.sources.borrow_mut().remove(self.key);
    }
}
