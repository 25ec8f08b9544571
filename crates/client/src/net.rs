//! Byte streams to a server: TCP or a Unix socket, in clear or under TLS.

use std::io::{Error, ErrorKind, Read, Result, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use mio::net::{TcpStream, UnixStream};
use rustls::pki_types::ServerName;

pub use crate::peer::Peer;
use crate::peer::listener_of;
use crate::reactor::{Io, sleep_until};

/// How long a full queue is left alone.
const QUEUE_RETRY: Duration = Duration::from_millis(5);

/// Where a server listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP; the first address that answers is taken.
    Tcp(Vec<SocketAddr>),
    /// A Unix socket.
    Unix(PathBuf),
}

#[derive(Debug)]
enum Socket {
    Tcp(Io<TcpStream>),
    Unix(Io<UnixStream>),
}

/// A connected byte stream.
#[derive(Debug)]
pub struct Stream {
    socket: Socket,
    tls: Option<Box<rustls::ClientConnection>>,
}

impl Stream {
    /// Connects.
    ///
    /// # Errors
    /// The system's, of the last address that was tried.
    pub async fn connect(address: &Address) -> Result<Self> {
        let socket = match address {
            Address::Tcp(addresses) => Socket::Tcp(connect_tcp(addresses).await?),
            Address::Unix(path) => Socket::Unix(connect_unix(path).await?),
        };
        Ok(Self { socket, tls: None })
    }

    /// Who is at the other end.
    ///
    /// # Errors
    /// The system's.
    pub fn peer(&self) -> Result<Peer> {
        Ok(match &self.socket {
            Socket::Tcp(io) => Peer::Tcp {
                local: io.socket().local_addr()?,
                remote: io.socket().peer_addr()?,
            },
            Socket::Unix(io) => Peer::Unix {
                pid: listener_of(io.socket())?,
            },
        })
    }

    /// Whether nobody on a network can read along.
    #[must_use]
    pub fn is_secure(&self) -> bool {
        self.tls.is_some() || matches!(self.socket, Socket::Unix(_))
    }

    /// The TLS version and cipher, where there is TLS.
    #[must_use]
    pub fn tls_description(&self) -> Option<String> {
        let tls = self.tls.as_ref()?;
        let version = tls.protocol_version()?;
        let suite = tls.negotiated_cipher_suite()?.suite();
        Some(format!("{version:?} {suite:?}").replace('_', "-"))
    }

    /// Goes on under TLS.
    ///
    /// # Errors
    /// The handshake's, with rustls's words for a certificate that is refused.
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
            let received = receive_tls(&self.socket, tls, |_| Ok(None::<()>)).await;
            if let Err(error) = received {
                // Tell the server why; what went wrong here is what matters.
                let _ = flush_tls(&self.socket, tls).await;
                return Err(error);
            }
        }
        flush_tls(&self.socket, tls).await
    }

    /// Writes all of `bytes`.
    ///
    /// # Errors
    /// The system's, or TLS's.
    pub async fn write_all(&mut self, bytes: &[u8]) -> Result<()> {
        let Some(tls) = &mut self.tls else {
            return self.socket.write_all(bytes).await;
        };
        let mut rest = bytes;
        while !rest.is_empty() {
            // rustls takes no more than its buffer holds.
            let taken = tls.writer().write(rest)?;
            rest = &rest[taken..];
            flush_tls(&self.socket, tls).await?;
        }
        Ok(())
    }

    /// Waits for bytes and hands them to `take`, maybe in several pieces; ends
    /// when `take` gave something, or after one read of the socket.
    ///
    /// # Errors
    /// The system's, or TLS's; `UnexpectedEof` when the peer has closed.
    pub async fn receive<R>(
        &mut self,
        mut take: impl FnMut(&[u8]) -> Option<R>,
    ) -> Result<Option<R>> {
        let Some(tls) = &mut self.tls else {
            return self.socket.receive(take).await;
        };
        let given = drain_plaintext(tls, &mut take)?;
        if given.is_some() {
            return Ok(given);
        }
        let drain = |tls: &mut _| drain_plaintext(tls, &mut take);
        let given = receive_tls(&self.socket, tls, drain).await?;
        // TLS has messages of its own (key updates) to answer.
        flush_tls(&self.socket, tls).await?;
        Ok(given)
    }
}

impl Socket {
    async fn write_all(&self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Tcp(io) => io.write_all(bytes).await,
            Self::Unix(io) => io.write_all(bytes).await,
        }
    }

    async fn receive<R>(&self, take: impl FnMut(&[u8]) -> R) -> Result<R> {
        match self {
            Self::Tcp(io) => io.receive(take).await,
            Self::Unix(io) => io.receive(take).await,
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

/// Reads the socket once; `drain` takes what TLS has decrypted, until it gave something.
async fn receive_tls<R>(
    socket: &Socket,
    tls: &mut rustls::ClientConnection,
    mut drain: impl FnMut(&mut rustls::ClientConnection) -> Result<Option<R>>,
) -> Result<Option<R>> {
    socket
        .receive(|mut bytes| {
            let mut given = None;
            // rustls holds little plaintext, less than the socket can give at once.
            while !bytes.is_empty() && tls.read_tls(&mut bytes)? > 0 {
                tls.process_new_packets().map_err(Error::other)?;
                if given.is_none() {
                    given = drain(tls)?;
                }
            }
            Ok(given)
        })
        .await?
}

/// Hands on what TLS has decrypted.
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

/// Unlike TCP's, a Unix socket's full queue refuses at once: try again until the
/// caller's own limit.
async fn connect_unix(path: &Path) -> Result<Io<UnixStream>> {
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep_until(Instant::now() + QUEUE_RETRY).await;
            }
            connected => return Io::new(connected?),
        }
    }
}

async fn connect_tcp(addresses: &[SocketAddr]) -> Result<Io<TcpStream>> {
    let mut last = Error::new(ErrorKind::AddrNotAvailable, "the name has no address");
    for address in addresses {
        match connect_one(*address).await {
            Ok(io) => return Ok(io),
            Err(error) => last = error,
        }
    }
    Err(last)
}

async fn connect_one(address: SocketAddr) -> Result<Io<TcpStream>> {
    let io = Io::new(TcpStream::connect(address)?)?;
    io.writable().await;
    if let Some(error) = io.socket().take_error()? {
        return Err(error);
    }
    // Statements are small and must not wait for each other.
    io.socket().set_nodelay(true)?;
    Ok(io)
}
