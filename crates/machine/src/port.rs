//! Free ports, and which process has taken one.

use std::collections::VecDeque;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::ops::Range;
use std::sync::Mutex;

use host::sockets;

use crate::failure::{Fact, Failure};
use crate::locked;

/// Below Linux's default range of ephemeral ports, from which a client could get a port before the
/// server listens on it.
const RANGE: Range<u16> = 20_000..32_768;
const TRIES: u32 = 1_000;
/// Number of reservations that are kept: more ports than the servers of a trial use.
const KEPT: usize = 64;

/// Reservations, the oldest first: UDP sockets bound to the same numbers, which no server uses and
/// every dyno of this host tries to bind.
static RESERVED: Mutex<VecDeque<UdpSocket>> = Mutex::new(VecDeque::new());

/// A port that is free at an address of this host and reserved among its dynos. In a network namespace
/// of their own, servers have all ports.
pub fn free(at: impl Into<IpAddr>) -> Result<u16, Failure> {
    let (reservation, port) = reserve(at.into())?;
    keep(reservation);
    Ok(port)
}

/// `count` different free ports.
pub fn several(count: usize, at: impl Into<IpAddr>) -> Result<Vec<u16>, Failure> {
    let at = at.into();
    let reserved = (0..count).map(|_| reserve(at));
    let reserved = reserved.collect::<Result<Vec<_>, Failure>>()?;
    let ports = reserved.into_iter().map(|(reservation, port)| {
        keep(reservation);
        port
    });
    Ok(ports.collect())
}

fn reserve(at: IpAddr) -> Result<(UdpSocket, u16), Failure> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        let port = random_port();
        match claim(at, port) {
            Ok(reservation) => return Ok((reservation, port)),
            Err(error) => refused = error,
        }
    }
    Err(Failure::at("find a free port on", &at.to_string())(refused))
}

fn claim(at: IpAddr, port: u16) -> io::Result<UdpSocket> {
    let reservation = UdpSocket::bind((Ipv4Addr::LOCALHOST, port))?;
    listen((at, port).into()).map(|()| reservation)
}

fn listen(address: SocketAddr) -> io::Result<()> {
    match TcpListener::bind(address) {
        // The address belongs to a network namespace, in which only the server listens.
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => Ok(()),
        bound => bound.map(drop),
    }
}

fn random_port() -> u16 {
    let random = RandomState::new().build_hasher().finish();
    let offset = random % u64::from(RANGE.end - RANGE.start);
    RANGE.start + u16::try_from(offset).unwrap_or_default()
}

fn keep(reservation: UdpSocket) {
    let mut reserved = locked(&RESERVED);
    reserved.push_back(reservation);
    if reserved.len() > KEPT {
        reserved.pop_front();
    }
}

/// Checks that no process in this host's network listens at `address`.
pub fn check_free(address: SocketAddrV4) -> Result<(), Failure> {
    listen(address.into()).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => taken(address),
        _ => Failure::at("listen on", &address.to_string())(error),
    })
}

/// The failure for a port that is taken.
pub fn taken(address: SocketAddrV4) -> Failure {
    let by = listener(address).map_or(String::new(), |by| format!(" by {by}"));
    let port = address.port();
    Failure::server(format!("port {port} is taken{by}"))
        .remedy("remove server.port to use a free port, or stop that process")
        .key("server.port")
        .fact(Fact::PortTaken)
}

/// The process that listens on an address; `None` if the address is not this host's, or if this
/// user may not see the process.
fn listener(address: SocketAddrV4) -> Option<String> {
    // Fails for an address in another network namespace, which has its own listeners.
    TcpListener::bind((*address.ip(), 0)).ok()?;
    let pid = sockets::holder(&sockets::listening(address.into())?)?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} (process {pid})", name.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_reported_with_its_process() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = SocketAddrV4::new(Ipv4Addr::LOCALHOST, listener.local_addr().unwrap().port());
        let port = at.port();
        let error = check_free(at).unwrap_err();
        let own = format!("(process {})", std::process::id());
        let text = error.to_string();
        assert!(
            text.contains(&port.to_string()) && text.contains(&own),
            "{text}"
        );
        drop(listener);
        check_free(at).unwrap();
    }

    #[test]
    fn several_ports_are_different() {
        let mut ports = several(500, Ipv4Addr::LOCALHOST).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 500);
    }

    #[test]
    fn what_is_taken_at_the_address_of_a_server_is_not_free() {
        let other = Ipv4Addr::new(127, 0, 0, 2);
        let listener = TcpListener::bind((other, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let taken = claim(other.into(), port).unwrap_err();
        assert_eq!(taken.kind(), io::ErrorKind::AddrInUse);
        // The address of a network namespace.
        claim(Ipv4Addr::new(192, 0, 2, 1).into(), port).unwrap();
    }

    #[test]
    fn what_another_dyno_has_reserved_is_not_free() {
        let (reservation, port) = reserve(Ipv4Addr::LOCALHOST.into()).unwrap();
        assert!(RANGE.contains(&port));
        let again = UdpSocket::bind((Ipv4Addr::LOCALHOST, port));
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(reservation);
        UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
