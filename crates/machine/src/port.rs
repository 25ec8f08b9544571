//! Free ports, and which process has taken one.

use std::collections::VecDeque;
use std::fs;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, UdpSocket};
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

/// A port that is free on 127.0.0.1 and reserved among the dynos of this host. For servers without
/// a network namespace of their own, which would have all ports.
pub fn free() -> Result<u16, Failure> {
    let (reservation, port) = reserve()?;
    keep(reservation);
    Ok(port)
}

/// `count` different free ports.
pub fn several(count: usize) -> Result<Vec<u16>, Failure> {
    let reserved = (0..count).map(|_| reserve());
    let reserved = reserved.collect::<Result<Vec<_>, Failure>>()?;
    let ports = reserved.into_iter().map(|(reservation, port)| {
        keep(reservation);
        port
    });
    Ok(ports.collect())
}

fn reserve() -> Result<(UdpSocket, u16), Failure> {
    let mut refused = io::Error::from(io::ErrorKind::AddrInUse);
    for _ in 0..TRIES {
        let address = (Ipv4Addr::LOCALHOST, random_port());
        let reservation = UdpSocket::bind(address);
        let is_free = |reservation| TcpListener::bind(address).map(|_| reservation);
        match reservation.and_then(is_free) {
            Ok(reservation) => return Ok((reservation, address.1)),
            Err(error) => refused = error,
        }
    }
    Err(Failure::at("find a free port on", "127.0.0.1")(refused))
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
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            io::ErrorKind::AddrInUse => Err(taken(address)),
            // The address belongs to a network namespace, in which only the server listens.
            io::ErrorKind::AddrNotAvailable => Ok(()),
            _ => Err(Failure::at("listen on", &address.to_string())(error)),
        },
    }
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
        let mut ports = several(500).unwrap();
        ports.sort_unstable();
        ports.dedup();
        assert_eq!(ports.len(), 500);
    }

    #[test]
    fn what_another_dyno_has_reserved_is_not_free() {
        let (reservation, port) = reserve().unwrap();
        assert!(RANGE.contains(&port));
        let again = UdpSocket::bind((Ipv4Addr::LOCALHOST, port));
        assert_eq!(again.unwrap_err().kind(), io::ErrorKind::AddrInUse);
        drop(reservation);
        UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).unwrap();
    }
}
