//! TCP sockets of this host and the processes that hold them (`/proc/net/tcp`).

use std::fs;
use std::net::{IpAddr, SocketAddr};

use procfs_core::net::{TcpNetEntries, TcpNetEntry, TcpState};
use procfs_core::{ExplicitSystemInfo, FromBufReadSI};

use crate::files::{LOCAL, text};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    inode: u64,
    pub uid: u32,
}

/// The socket that listens on an address of this host, or on all addresses with the same port.
pub fn listening(at: SocketAddr) -> Option<Socket> {
    find(|entry| {
        let (ip, port) = canonical(entry.local_address);
        let is_there = port == at.port() && (ip == at.ip() || ip.is_unspecified());
        is_there && entry.state == TcpState::Listen
    })
}

/// The local end of a connection between two processes of this host.
pub fn connected(local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
    find(|entry| {
        canonical(entry.local_address) == canonical(local)
            && canonical(entry.remote_address) == canonical(remote)
    })
}

/// The process that has the socket open; `None` if this user lacks the permission to see it.
pub fn holder(socket: &Socket) -> Option<u32> {
    let link = format!("socket:[{}]", socket.inode);
    processes().find(|pid| has_open(*pid, &link))
}

pub fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn find(is_wanted: impl Fn(&TcpNetEntry) -> bool) -> Option<Socket> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"].into_iter();
    let texts = tables.filter_map(|table| text(&LOCAL, table));
    // The parser only uses the byte order.
    let system = ExplicitSystemInfo {
        boot_time_secs: 0,
        ticks_per_second: 1,
        page_size: 1,
        is_little_endian: cfg!(target_endian = "little"),
    };
    let parse = |text: String| TcpNetEntries::from_buf_read(text.as_bytes(), &system).ok();
    let parsed = texts.filter_map(parse);
    let entry = parsed.flat_map(|table| table.0).find(is_wanted)?;
    Some(Socket {
        uid: entry.uid,
        inode: entry.inode,
    })
}

/// Converts IPv4-mapped addresses such as `::ffff:127.0.0.1`, which dual-stack sockets show.
fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

fn has_open(pid: u32, link: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"));
    let files = files.into_iter().flatten().flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|target| target.as_os_str() == link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_connection_are_found() {
        for host in ["127.0.0.1", "::1"] {
            let listener = std::net::TcpListener::bind((host, 0)).unwrap();
            let at = listener.local_addr().unwrap();
            let stream = std::net::TcpStream::connect(at).unwrap();
            let accepted = listener.accept().unwrap();
            let own = stream.local_addr().unwrap();
            let socket = connected(at, own).unwrap();
            assert_eq!(holder(&socket), Some(std::process::id()));
            let listens = listening(at);
            assert_eq!(listens.and_then(|s| holder(&s)), Some(std::process::id()));
            assert_ne!(listens, Some(socket));
            // A connected socket does not listen.
            assert_eq!(listening(own), None);
            drop(accepted);
        }
    }

    #[test]
    fn a_socket_that_listens_on_another_address_is_not_found() {
        for (listens, wanted, is_found) in [
            ("127.0.0.1", "127.0.0.1", true),
            ("127.0.0.1", "127.0.0.2", false),
            ("0.0.0.0", "127.0.0.2", true),
        ] {
            let listener = std::net::TcpListener::bind((listens, 0)).unwrap();
            let port = listener.local_addr().unwrap().port();
            let found = listening(SocketAddr::new(wanted.parse().unwrap(), port));
            assert_eq!(found.is_some(), is_found, "{listens}, {wanted}");
        }
    }
}
