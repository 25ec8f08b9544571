//! Byte streams to a server: TCP or a Unix socket, with or without TLS.

use std::future::poll_fn;
use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::PathBuf;
use std::sync::Arc;
use std::task::{Context, Poll};

use mio::net::UnixStream;
use rustix::net::{Shutdown, shutdown};
use rustls::pki_types::ServerName;
use wire::gather::{Gatherer, Message};

use crate::dial;
pub use crate::peer::Peer;
use crate::peer::listener_of;
use crate::reactor::Io;
use crate::tcp::TcpSocket;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP; dyno uses the first of these addresses that answers.
    Tcp(Vec<SocketAddr>),
    Unix(PathBuf),
}

#[derive(Debug)]
enum Socket {
    Tcp(Io<TcpSocket>),
    Unix(Io<UnixStream>),
}

#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<rustls::ClientConnection>>,
}

impl Stream {
    pub async fn connect(address: &Address) -> Result<Self> {
        let socket = match address {
            Address::Tcp(addresses) => Socket::Tcp(dial::tcp(addresses).await?),
            Address::Unix(path) => Socket::Unix(dial::unix(path).await?),
        };
        Ok(Self { socket, tls: None })
    }

    pub(crate) fn socket(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(io) => io.socket().as_fd(),
            Socket::Unix(io) => io.socket().as_fd(),
        }
    }

    /// Makes what is still sent on the connection fail.
    pub(crate) fn shut_down(&self) {
        // Fails only if the connection is already broken.
        let _ = shutdown(self.socket(), Shutdown::Both);
    }

    pub fn peer(&self) -> Result<Peer> {
        Ok(match &self.socket {
            Socket::Tcp(io) => Peer::Tcp {
                local: io.socket().stream.local_addr()?,
                remote: io.socket().stream.peer_addr()?,
            },
            Socket::Unix(io) => Peer::Unix {
                pid: listener_of(io.socket())?,
            },
        })
    }

    /// Makes the kernel stamp arriving data from now on, if it can, that is on TCP.
    pub fn stamp_arrivals(&self) -> Result<()> {
        match &self.socket {
            Socket::Tcp(io) => {
                io.watch_wall_clock()?;
                io.socket().stamp_arrivals()
            }
            Socket::Unix(_) => Ok(()),
        }
    }

    /// When the last byte of the socket's last read reached this host, in nanoseconds of the
    /// monotonic clock; `None` if the kernel did not stamp it. Not checked against any other clock.
    #[inline]
    pub fn arrived_ns(&self) -> Option<u64> {
        match &self.socket {
            Socket::Tcp(io) => io.monotonic_ns(io.socket().arrived.get()?),
            Socket::Unix(_) => None,
        }
    }

    /// TLS version and cipher; `None` without TLS.
    pub fn tls_description(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let version = tls.protocol_version()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        Some(format!("{version:?} {suite:?}").replace('_', "-"))
    }

    /// The server's certificate (DER); `None` without TLS.
    pub(crate) fn peer_certificate(&self) -> Option<&[u8]> {
        let certificates = self.tls.as_ref()?.peer_certificates()?;
        certificates.first().map(AsRef::as_ref)
    }

    pub async fn start_tls(
        &mut self,
        config: Arc<rustls::ClientConfig>,
        name: ServerName<'static>,
    ) -> Result<()> {
        let tls = rustls::ClientConnection::new(config, name).map_err(Error::other)?;
        let tls = self.tls.insert(Box::new(tls));
        while tls.is_handshaking() {
            flush_tls(&self.socket, tls).await?;
            if !tls.is_handshaking() {
                break;
            }
            let socket = &self.socket;
            let read = |context: &mut Context<'_>| {
                poll_receive_tls(socket, tls, context, |_| Ok(None::<()>))
            };
            let received = poll_fn(read).await;
            if let Err(error) = received {
                // Tells the server why; the first error is the one that matters.
                let _ = flush_tls(&self.socket, tls).await;
                return Err(error);
            }
        }
        flush_tls(&self.socket, tls).await
    }

    pub async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(tls) = &mut self.tls else {
            return self.socket.write_all(bytes).await;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            // rustls takes only what fits in its buffer.
            let taken = tls.writer().write(rest)?;
            rest = &rest[taken..];
            flush_tls(&self.socket, tls).await?;
        }
        Ok(())
    }

    /// Writes as many of `bytes` as possible without waiting; none under TLS.
    #[inline]
    pub fn try_write(&mut self, bytes: &[u8]) -> Result<usize> {
        match &self.tls {
            Some(_) => Ok(0),
            None => self.socket.try_write(bytes),
        }
    }

    /// Waits for bytes and passes them to `take`, possibly in several pieces; ends when `take`
    /// returns a value, or after one read of the socket.
    pub async fn receive<R>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<Option<R>> {
        poll_fn(|context| self.poll_receive(context, &mut take)).await
    }

    pub(crate) async fn gather(
        &mut self,
        gatherer: &mut Gatherer,
    ) -> std::result::Result<(), crate::Error> {
        let received = self.receive(|bytes| {
            gatherer.push(bytes);
            None::<()>
        });
        received.await.map(drop).map_err(crate::Error::Lost)
    }

    pub(crate) async fn next_message<M: Message>(
        &mut self,
        gatherer: &mut Gatherer,
    ) -> std::result::Result<M, crate::Error> {
        loop {
            if let Some(message) = gatherer.take_message()? {
                return Ok(message);
            }
            self.gather(gatherer).await?;
        }
    }

    /// [`Stream::receive`] as a poll function.
    #[inline]
    pub fn poll_receive<R>(
        &mut self,
        context: &Context<'_>,
        take: impl FnMut(&[u8]) -> Option<R>,
    ) -> Poll<Result<Option<R>>> {
        match &mut self.tls {
            None => self.socket.poll_receive(context, take),
            Some(tls) => poll_plaintext(&self.socket, tls, context, take),
        }
    }
}

impl Socket {
    async fn write_all(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Tcp(io) => io.write_all(bytes).await,
            Self::Unix(io) => io.write_all(bytes).await,
        }
    }

    #[inline]
    fn try_write(&self, bytes: &[u8]) -> Result<usize> {
        match self {
            Self::Tcp(io) => io.try_write(bytes),
            Self::Unix(io) => io.try_write(bytes),
        }
    }

    #[inline]
    fn poll_receive<R>(
        &self,
        context: &Context<'_>,
        take: impl FnMut(&[u8]) -> R,
    ) -> Poll<Result<R>> {
        match self {
            Self::Tcp(io) => io.poll_receive(context, take),
            Self::Unix(io) => io.poll_receive(context, take),
        }
    }
}

async fn flush_tls(socket: &Socket, tls: &mut rustls::ClientConnection) -> Result<()> {
    let mut out = Vec::new();
    while tls.wants_write() {
        tls.write_tls(&mut out)?;
    }
    socket.write_all(&out).await
}

/// Passes on data that TLS has already decrypted, or reads the socket once.
fn poll_plaintext<R>(
    socket: &Socket,
    tls: &mut rustls::ClientConnection,
    context: &Context<'_>,
    mut take: impl FnMut(&[u8]) -> Option<R>,
) -> Poll<Result<Option<R>>> {
    let mut has_taken = false;
    let mut take = |bytes: &[u8]| {
        has_taken = true;
        take(bytes)
    };
    let polled = match drain_plaintext(tls, &mut take) {
        // TLS's own answers (key updates) go out before the next write, as RFC 8446
        // requires.
        Ok(None) => poll_receive_tls(socket, tls, context, |tls| drain_plaintext(tls, &mut take)),
        given => Poll::Ready(given),
    };
    match polled {
        // Data that preceded the end of the stream counts; the next call reports the end.
        Poll::Ready(Err(error)) if has_taken && error.kind() == ErrorKind::UnexpectedEof => {
            Poll::Ready(Ok(None))
        }
        polled => polled,
    }
}

/// Reads the socket once; `drain` takes decrypted data until it returns a value.
fn poll_receive_tls<R>(
    socket: &Socket,
    tls: &mut rustls::ClientConnection,
    context: &Context<'_>,
    mut drain: impl FnMut(&mut rustls::ClientConnection) -> Result<Option<R>>,
) -> Poll<Result<Option<R>>> {
    let received = socket.poll_receive(context, |mut bytes| {
        let mut given = None;
        // rustls buffers little plaintext, less than one read of the socket may yield.
        while !bytes.is_empty() && tls.read_tls(&mut bytes)? > 0 {
            tls.process_new_packets().map_err(Error::other)?;
            if given.is_none() {
                given = drain(tls)?;
            }
        }
        Ok(given)
    });
    received.map(Result::flatten)
}

fn drain_plaintext<R>(
    tls: &mut rustls::ClientConnection,
    take: &mut impl FnMut(&[u8]) -> Option<R>,
) -> Result<Option<R>> {
    let mut buffer = [0; 4096];
    loop {
        match tls.reader().read(&mut buffer) {
            Ok(0) => {
                return Err(Error::new(
                    ErrorKind::UnexpectedEof,
                    "the server closed the connection",
                ));
            }
            Ok(length) => {
                if let Some(given) = take(&buffer[..length]) {
                    return Ok(Some(given));
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(None),
            Err(error) => return Err(error),
        }
    }
}
