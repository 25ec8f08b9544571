//! The queue of new connections at a forwarded port. QEMU listens with a queue of one, so when many
//! virtual users connect at once, most would wait until the kernel retries after 1, 3, and 7 s. The
//! queue of a listening socket can be changed, also by another process that holds it.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::{AsFd, OwnedFd};

use rustix::io::{self, Errno};
use rustix::net::{getsockname, listen, sockopt};
use rustix::process::{PidfdGetfdFlags, pidfd_getfd};

use crate::process;

/// The kernel's default limit.
const CONNECTIONS: i32 = 4096;

/// Lets [`CONNECTIONS`] wait at a port that a child listens on.
pub(super) fn widen(child: u32, port: u16) -> io::Result<()> {
    let process = process::handle(child)?;
    let entries = fs::read_dir(format!("/proc/{child}/fd"))
        .map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::SRCH))?;
    let names = entries.flatten().map(|entry| entry.file_name());
    let numbers = names.filter_map(|name| name.to_str()?.parse().ok());
    let shared = |number| pidfd_getfd(&process, number, PidfdGetfdFlags::empty());
    let mut error = Errno::NOENT;
    for number in numbers {
        match shared(number) {
            Ok(socket) if listens(&socket, port) => return listen(&socket, CONNECTIONS),
            Ok(_) => {}
            Err(refused) => error = refused,
        }
    }
    Err(error)
}

fn listens(socket: &OwnedFd, port: u16) -> bool {
    let address = SocketAddrV4::new(Ipv4Addr::LOCALHOST, port).into();
    let is_there = getsockname(socket.as_fd()).is_ok_and(|own| own == address);
    is_there && sockopt::socket_acceptconn(socket).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_port_without_a_listener_is_reported() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        widen(std::process::id(), port).unwrap();
        drop(listener);
        assert_eq!(widen(std::process::id(), port), Err(Errno::NOENT));
    }
}
