//! Sockets that tasks wait for.

use std::cell::Cell;
use std::future::poll_fn;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::os::fd::{AsFd, AsRawFd};
use std::rc::Rc;
use std::task::{Context, Poll, Waker, ready};

use mio::unix::SourceFd;
use mio::{Interest, Token};

use super::{Inner, WallTime};

/// After this many consecutive reads that fill the whole buffer, a task lets other tasks run.
const FULL_READS_AT_ONCE: u32 = 16;

/// The readiness of a socket as of its last edge, and the tasks that wait for it.
#[derive(Debug, Default)]
pub(super) struct Readiness {
    readable: bool,
    writable: bool,
    /// The peer has closed the connection: no further edge will come, so reads must be tried.
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
            if let Some(waker) = &self.reader {
                waker.wake_by_ref();
            }
        }
        if event.is_writable() || event.is_write_closed() || failed {
            self.writable = true;
            // Edges for reading report writability, too, which tasks rarely wait for: a waker that
            // stayed would poll the task twice per edge.
            if let Some(waker) = self.writer.take() {
                waker.wake();
            }
        }
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
pub struct Io<S: AsFd> {
    socket: S,
    key: usize,
    reactor: Rc<Inner>,
    full_reads: Cell<u32>,
}

impl<S: AsFd> Io<S> {
    /// Registers a non-blocking socket with the event loop of this thread.
    pub fn new(socket: S) -> Result<Self> {
        let reactor = Inner::current();
        let key = reactor.sources.borrow_mut().insert(Readiness::default());
        let interest = Interest::READABLE | Interest::WRITABLE;
        let fd = socket.as_fd().as_raw_fd();
        if let Err(error) = reactor
            .registry
            .register(&mut SourceFd(&fd), Token(key), interest)
        {
            reactor.sources.borrow_mut().remove(key);
            return Err(error);
        }
        Ok(Self {
            socket,
            key,
            reactor,
            full_reads: Cell::new(0),
        })
    }

    pub fn socket(&self) -> &S {
        &self.socket
    }

    /// Makes the thread's event loop keep track of the wall clock.
    pub(crate) fn watch_wall_clock(&self) -> Result<()> {
        self.reactor.watch_wall_clock()
    }

    /// The time of the monotonic clock for a time of the wall clock, in nanoseconds; `None` if the
    /// wall clock is not watched, and for a second after it was set.
    #[inline]
    pub(crate) fn monotonic_ns(&self, wall: WallTime) -> Option<u64> {
        self.reactor.wall_clock.get()?.monotonic_ns(wall)
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

    #[inline]
    fn poll_readable(&self, context: &Context<'_>) -> Poll<()> {
        let mut sources = self.reactor.sources.borrow_mut();
        let readiness = &mut sources[self.key];
        if readiness.readable {
            return Poll::Ready(());
        }
        wait(&mut readiness.reader, context);
        Poll::Pending
    }

    #[inline]
    fn drained(&self) {
        let readiness = &mut self.reactor.sources.borrow_mut()[self.key];
        readiness.readable = readiness.closed;
    }
}

impl<S: AsFd> Io<S>
where
    for<'a> &'a S: Read + Write,
{
    pub async fn write_all(&self, mut bytes: &[u8]) -> Result<()> {
        while !bytes.is_empty() {
            // There is nearly always room, so try first.
            bytes = &bytes[self.try_write(bytes)?..];
            if !bytes.is_empty() {
                self.writable().await;
            }
        }
        Ok(())
    }

    /// Writes as many of `bytes` as the socket has room for, possibly none.
    #[inline]
    pub fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        match (&self.socket).write(bytes) {
            Ok(0) if !bytes.is_empty() => Err(ErrorKind::WriteZero.into()),
            Err(error) if error.kind() == ErrorKind::Interrupted => Ok(0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                self.reactor.sources.borrow_mut()[self.key].writable = false;
                Ok(0)
            }
            written => written,
        }
    }

    /// Waits for bytes and passes them to `take`, in the thread's shared buffer.
    #[inline]
    pub fn poll_receive<R>(
        &self,
        context: &Context<'_>,
        mut take: impl FnMut(&[u8]) -> R,
    ) -> Poll<Result<R>> {
        if self.full_reads.get() >= FULL_READS_AT_ONCE {
            self.full_reads.set(0);
            self.reactor.defer(context);
            return Poll::Pending;
        }
        loop {
            ready!(self.poll_readable(context));
            let mut buffer = self.reactor.receive_buffer.borrow_mut();
            match (&self.socket).read(&mut buffer) {
                Ok(0) => {
                    return Poll::Ready(Err(Error::new(
                        ErrorKind::UnexpectedEof,
                        "the server closed the connection",
                    )));
                }
                Ok(length) => {
                    // A short read has emptied the socket: the next edge reports new data
                    // (epoll(7)), so no read has to fail first.
                    if length < buffer.len() {
                        self.drained();
                        self.full_reads.set(0);
                    } else {
                        self.full_reads.set(self.full_reads.get() + 1);
                    }
                    return Poll::Ready(Ok(take(&buffer[..length])));
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => self.drained(),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }
}

impl<S: AsFd> Drop for Io<S> {
    fn drop(&mut self) {
        let fd = self.socket.as_fd().as_raw_fd();
        // Closing the socket, which follows, also removes it from the queue.
        let _ = self.reactor.registry.deregister(&mut SourceFd(&fd));
        self.reactor.sources.borrow_mut().remove(self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use std::future::Future;

    use mio::net::UnixStream;

    use super::super::{Reactor, sleep_until, timeout};
    use super::*;

    /// A socket that always has more data.
    struct Endless(UnixStream);

    impl AsFd for Endless {
        fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
            self.0.as_fd()
        }
    }

    impl Read for &Endless {
        fn read(&mut self, buffer: &mut [u8]) -> Result<usize> {
            Ok(buffer.len())
        }
    }

    impl Write for &Endless {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            Ok(bytes.len())
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    async fn receive<S, R>(io: &Io<S>, mut take: impl FnMut(&[u8]) -> R) -> Result<R>
    where
        S: AsFd,
        for<'a> &'a S: Read + Write,
    {
        poll_fn(|context| io.poll_receive(context, &mut take)).await
    }

    #[test]
    fn a_task_that_has_waited_for_room_is_not_woken_twice_for_each_message() {
        const MESSAGES: u32 = 100;
        let reactor = Reactor::new().unwrap();
        let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let peer = std::thread::spawn(move || {
            for _ in 0..MESSAGES {
                (&theirs).write_all(b"?").unwrap();
                (&theirs).read_exact(&mut [0]).unwrap();
            }
        });
        let mut echo = Box::pin(async move {
            let io = Io::new(UnixStream::from_std(ours)).unwrap();
            io.writable().await;
            for _ in 0..MESSAGES {
                receive(&io, |_| ()).await.unwrap();
                io.write_all(b"!").await.unwrap();
            }
        });
        let polls = Rc::new(Cell::new(0));
        let counted = Rc::clone(&polls);
        reactor.spawn(poll_fn(move |context| {
            counted.set(counted.get() + 1);
            echo.as_mut().poll(context)
        }));
        reactor.run_tasks(|| false).unwrap();
        peer.join().unwrap();
        // Some messages may cause an edge in addition to their own.
        assert!(polls.get() < MESSAGES * 3 / 2, "{}", polls.get());
    }

    #[test]
    fn a_task_whose_reads_are_always_full_lets_the_others_run() {
        let reactor = Reactor::new().unwrap();
        let (socket, mut peer) = UnixStream::pair().unwrap();
        peer.write_all(b"!").unwrap();
        let begun = Instant::now();
        reactor.spawn(async move {
            let io = Io::new(Endless(socket)).unwrap();
            // Limited, so that the test ends even if it fails.
            while begun.elapsed() < Duration::from_secs(10) {
                receive(&io, |_| ()).await.unwrap();
            }
        });
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        let others = async {
            let io = Io::new(ours).unwrap();
            sleep_until(Instant::now() + Duration::from_millis(5)).await;
            theirs.write_all(b"?").unwrap();
            receive(&io, <[u8]>::len).await.unwrap()
        };
        let received = reactor.block_on(timeout(Duration::from_secs(5), others));
        assert_eq!(received.unwrap(), Some(1));
        reactor.cancel_tasks();
    }
}
