//! The other end of a connection.

use std::io::{Error, Result};
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

/// As the kernel reports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Peer {
    Tcp {
        local: SocketAddr,
        remote: SocketAddr,
    },
    Unix {
        /// The process that listens there; `None` in another PID namespace.
        pid: Option<u32>,
    },
}

/// The process that called listen() for a connected Unix socket (unix(7), SO_PEERCRED).
#[expect(
    unsafe_code,
    reason = "rustix cannot represent the 0 that means a process of another PID namespace"
)]
pub(crate) fn listener_of(socket: impl AsFd) -> Result<Option<u32>> {
    let mut credentials = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes behind the pointer, which is valid for
    // that many during the call; every bit pattern is a valid ucred.
    let outcome = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERCRED,
            (&raw mut credentials).cast(),
            &raw mut length,
        )
    };
    match outcome {
        0 => Ok(u32::try_from(credentials.pid).ok().filter(|pid| *pid > 0)),
        _ => Err(Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listener_is_known_by_its_process() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let stream = std::os::unix::net::UnixStream::connect(&path).unwrap();
        assert_eq!(listener_of(&stream).unwrap(), Some(std::process::id()));
        let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(!matches!(listener_of(&tcp), Ok(Some(_))));
    }
}
