//! Opens sockets: chooses among several addresses, and detects a broken network.

use std::future::{Future, poll_fn};
use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::path::Path;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use mio::net::{TcpStream, UnixStream};
use rustix::net::sockopt;

use crate::reactor::{Io, sleep_until, timeout};
use crate::tcp::TcpSocket;

/// A TCP connection is lost when its peer has acknowledged nothing for this long, which is the only
/// sign of a host that is down or a cable that is cut. A slow server is not affected, because its
/// kernel acknowledges what it receives.
pub(crate) const SILENCE_LIMIT: Duration = Duration::from_secs(60);
/// How long a connection is idle before the first probe.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(20);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(5);
/// Number of probes that may remain unanswered.
const KEEPALIVE_PROBES: u32 = 8;
/// How long to wait for an address before the next one is tried in parallel (RFC 8305).
const NEXT_ADDRESS_AFTER: Duration = Duration::from_millis(250);
/// How long to wait after finding a full queue.
const QUEUE_RETRY: Duration = Duration::from_millis(5);

/// Unlike TCP, a Unix socket whose queue is full refuses at once, so this retries until the
/// caller's own limit.
pub(crate) async fn unix(path: &Path) -> Result<Io<UnixStream>> {
    loop {
        match UnixStream::connect(path) {
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                sleep_until(Instant::now() + QUEUE_RETRY).await;
            }
            connected => return Io::new(connected?),
        }
    }
}

type Attempt<'a> = Pin<Box<dyn Future<Output = Result<Io<TcpSocket>>> + 'a>>;

/// Connects to the first address that answers. Each address is tried once the previous one has
/// failed or has not answered for a while.
pub(crate) async fn tcp(addresses: &[SocketAddr]) -> Result<Io<TcpSocket>> {
    let mut last = Error::new(ErrorKind::AddrNotAvailable, "the name has no address");
    let mut attempts: Vec<Attempt<'_>> = Vec::new();
    let mut untried = addresses.iter();
    loop {
        if let Some(address) = untried.next() {
            attempts.push(Box::pin(to(*address)));
        }
        if attempts.is_empty() {
            return Err(last);
        }
        let first = first_to_end(&mut attempts);
        let ended = match untried.len() {
            0 => Some(first.await),
            _ => timeout(NEXT_ADDRESS_AFTER, first).await,
        };
        match ended {
            Some(Ok(connected)) => return Ok(connected),
            Some(Err(error)) => last = error,
            None => {}
        }
    }
}

/// Waits for the first attempt to end, and removes it.
async fn first_to_end(attempts: &mut Vec<Attempt<'_>>) -> Result<Io<TcpSocket>> {
    poll_fn(|context| {
        for place in 0..attempts.len() {
            if let Poll::Ready(ended) = attempts[place].as_mut().poll(context) {
                drop(attempts.remove(place));
                return Poll::Ready(ended);
            }
        }
        Poll::Pending
    })
    .await
}

async fn to(address: SocketAddr) -> Result<Io<TcpSocket>> {
    let io = Io::new(TcpSocket::new(TcpStream::connect(address)?))?;
    io.writable().await;
    let stream = &io.socket().stream;
    if let Some(error) = stream.take_error()? {
        return Err(error);
    }
    // Statements are small and must not be delayed by Nagle's algorithm.
    stream.set_nodelay(true)?;
    limit_silence(stream)?;
    Ok(io)
}

/// Makes the kernel end the connection after [`SILENCE_LIMIT`].
fn limit_silence(socket: &TcpStream) -> Result<()> {
    sockopt::set_socket_keepalive(socket, true)?;
    sockopt::set_tcp_keepidle(socket, KEEPALIVE_IDLE)?;
    sockopt::set_tcp_keepintvl(socket, KEEPALIVE_INTERVAL)?;
    sockopt::set_tcp_keepcnt(socket, KEEPALIVE_PROBES)?;
    // Probes do not cover data that was sent but not acknowledged, which has a limit of its own.
    let limit_ms = u32::try_from(SILENCE_LIMIT.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(socket, limit_ms)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;

    use rustix::net::{AddressFamily, SocketType, bind, getsockname, listen, socket};

    use super::*;
    use crate::reactor::Reactor;

    fn dial(addresses: &[SocketAddr]) -> Result<Io<TcpSocket>> {
        let limit = Duration::from_secs(10);
        let dialed = Reactor::new()
            .unwrap()
            .block_on(timeout(limit, tcp(addresses)));
        dialed
            .unwrap()
            .unwrap_or_else(|| Err(ErrorKind::TimedOut.into()))
    }

    fn listening() -> (TcpListener, SocketAddr) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        (listener, address)
    }

    /// A port that never answers, like one behind a firewall: its queue is full.
    struct Silent {
        address: SocketAddr,
        _listener: OwnedFd,
        _queued: Vec<std::net::TcpStream>,
    }

    fn silent() -> Silent {
        let listener = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&listener, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&listener, 0).unwrap();
        let address = SocketAddr::try_from(getsockname(&listener).unwrap()).unwrap();
        let limit = Duration::from_millis(200);
        let connect = || std::net::TcpStream::connect_timeout(&address, limit).ok();
        let queued: Vec<_> = std::iter::from_fn(connect).take(50).collect();
        assert!(queued.len() < 50, "its queue is never full");
        Silent {
            address,
            _listener: listener,
            _queued: queued,
        }
    }

    #[test]
    fn an_address_that_does_not_answer_does_not_keep_others_from_being_tried() {
        let (silents, (_listener, live)) = ([silent(), silent()], listening());
        let connected = dial(&[silents[0].address, silents[1].address, live]).unwrap();
        assert_eq!(connected.socket().stream.peer_addr().unwrap(), live);
    }

    #[test]
    fn an_address_that_refuses_is_followed_by_the_next_at_once() {
        let (closed, refusing) = listening();
        drop(closed);
        let (_listener, live) = listening();
        let connected = dial(&[refusing, live]).unwrap();
        assert_eq!(connected.socket().stream.peer_addr().unwrap(), live);
        let error = dial(&[refusing]).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert_eq!(dial(&[]).unwrap_err().kind(), ErrorKind::AddrNotAvailable);
    }

    #[test]
    fn silence_of_the_peer_has_a_limit() {
        let (_listener, live) = listening();
        let connected = dial(&[live]).unwrap();
        let socket = &connected.socket().stream;
        assert!(sockopt::socket_keepalive(socket).unwrap());
        let probes = sockopt::tcp_keepcnt(socket).unwrap();
        let probed = sockopt::tcp_keepintvl(socket).unwrap() * probes;
        let found = sockopt::tcp_keepidle(socket).unwrap() + probed;
        assert_eq!(found, SILENCE_LIMIT);
        let user_timeout = sockopt::tcp_user_timeout(socket).unwrap();
        assert_eq!(u128::from(user_timeout), SILENCE_LIMIT.as_millis());
    }
}
