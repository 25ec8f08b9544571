//! Ports: free ones, and which process has taken one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener};

use host::sockets;

use crate::error::LabError;

/// A port that is free on 127.0.0.1. Another process may take it before the server does. In a
/// network namespace of its own, a server has all ports.
pub(crate) fn free() -> Result<u16, LabError> {
    Ok(reserve()?.1)
}

/// As many free ports, all of them different.
pub(super) fn several(count: usize) -> Result<Vec<u16>, LabError> {
    // A port is not found again while it is reserved.
    let reserved: Vec<_> = (0..count)
        .map(|_| reserve())
        .collect::<Result<_, LabError>>()?;
    Ok(reserved.into_iter().map(|(_, port)| port).collect())
}

fn reserve() -> Result<(TcpListener, u16), LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let reserved = listener.and_then(|listener| {
        let port = listener.local_addr()?.port();
        Ok((listener, port))
    });
    reserved.map_err(LabError::at("find a free port on", "127.0.0.1".as_ref()))
}

/// Checks that no process of this host's network listens there.
pub(super) fn check_free(address: SocketAddrV4) -> Result<(), LabError> {
    match TcpListener::bind(address) {
        Ok(_) => Ok(()),
        Err(error) => match error.kind() {
            io::ErrorKind::AddrInUse => Err(taken(address.port())),
            // It belongs to a network namespace, where only the server listens.
            io::ErrorKind::AddrNotAvailable => Ok(()),
            _ => Err(LabError::at("listen on", address.to_string().as_ref())(
                error,
            )),
        },
    }
}

/// The error for a port that is taken.
pub(super) fn taken(port: u16) -> LabError {
    LabError::PortTaken {
        port,
        by: listener(port),
    }
}

/// The process that listens on a port, as far as this user may see it.
fn listener(port: u16) -> Option<String> {
    let pid = sockets::holder(&sockets::listening(port)?)?;
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
}
