//! Ports of 127.0.0.1: free ones, and which process has taken one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use host::sockets;

use crate::error::LabError;

/// A free port. Another process may take it before the server does.
pub(super) fn free() -> Result<u16, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(LabError::at("find a free port on", "127.0.0.1".as_ref()))
}

/// Checks that no process listens on a port.
pub(super) fn check_free(port: u16) -> Result<(), LabError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(taken(port)),
        Err(error) => Err(LabError::at("listen on port", port.to_string().as_ref())(
            error,
        )),
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
        let port = listener.local_addr().unwrap().port();
        let error = check_free(port).unwrap_err();
        let own = format!("(process {})", std::process::id());
        let text = error.to_string();
        assert!(
            text.contains(&port.to_string()) && text.contains(&own),
            "{text}"
        );
        drop(listener);
        check_free(port).unwrap();
        assert!(free().unwrap() > 0);
    }
}
