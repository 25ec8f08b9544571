//! TCP sockets of this host and the processes that hold them (`/proc/net/tcp`, proc(5)).

use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// The state LISTEN.
const LISTEN: &str = "0A";

/// A socket of some process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Socket {
    inode: u64,
    /// Whose it is.
    pub(crate) uid: u32,
}

/// A line of the table.
struct Row<'a> {
    fields: Vec<&'a str>,
}

/// The socket that listens on a port, at whichever address.
pub(crate) fn listening(port: u16) -> Option<Socket> {
    find(&tables(), |row| {
        row.fields.get(3) == Some(&LISTEN) && row.local().is_some_and(|local| local.port() == port)
    })
}

/// The end `local` of a connection of two processes of this host.
pub(crate) fn connected(local: SocketAddr, remote: SocketAddr) -> Option<Socket> {
    let is = |found: Option<SocketAddr>, wanted: SocketAddr| {
        found.is_some_and(|found| canonical(found) == canonical(wanted))
    };
    find(&tables(), |row| {
        is(row.local(), local) && is(row.remote(), remote)
    })
}

/// The process that has the socket open; `None` where this user may not see it.
pub(crate) fn holder(socket: &Socket) -> Option<u32> {
    let link = format!("socket:[{}]", socket.inode);
    processes().find(|pid| has_open(*pid, &link))
}

/// All processes that this process sees.
pub(crate) fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn tables() -> String {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok());
    texts.collect()
}

fn find(tables: &str, is_wanted: impl Fn(&Row<'_>) -> bool) -> Option<Socket> {
    let rows = tables.lines().map(|row| Row {
        fields: row.split_whitespace().collect(),
    });
    let mut wanted = rows.filter(is_wanted);
    let row = wanted.next()?;
    Some(Socket {
        uid: row.fields.get(7)?.parse().ok()?,
        inode: row.fields.get(9)?.parse().ok()?,
    })
}

impl Row<'_> {
    fn local(&self) -> Option<SocketAddr> {
        address(self.fields.get(1)?)
    }

    fn remote(&self) -> Option<SocketAddr> {
        address(self.fields.get(2)?)
    }
}

/// `0100007F:0CEA`: words of 32 bits as this machine has them, and a port.
fn address(text: &str) -> Option<SocketAddr> {
    let (words, port) = text.split_once(':')?;
    let word = |at: usize| {
        let word = u32::from_str_radix(words.get(8 * at..8 * at + 8)?, 16).ok()?;
        Some(word.to_ne_bytes())
    };
    let ip = match words.len() {
        8 => IpAddr::V4(Ipv4Addr::from(word(0)?)),
        32 => {
            let bytes = [word(0)?, word(1)?, word(2)?, word(3)?].concat();
            IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?))
        }
        _ => return None,
    };
    Some(SocketAddr::new(ip, u16::from_str_radix(port, 16).ok()?))
}

/// A socket for both families shows IPv4 as `::ffff:127.0.0.1`.
fn canonical(address: SocketAddr) -> (IpAddr, u16) {
    (address.ip().to_canonical(), address.port())
}

fn has_open(pid: u32, link: &str) -> bool {
    let files = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    let mut links = files.filter_map(|file| fs::read_link(file.path()).ok());
    links.any(|target| target.as_os_str() == link)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_listening_socket_listens() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0CEA 0100007F:9C40 01 0:0 0:0 0 7 0 111 1\n\
             1: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000 7 0 222 1\n";
        let listening = |port: u16| {
            find(table, |row| {
                row.fields.get(3) == Some(&LISTEN)
                    && row.local().is_some_and(|local| local.port() == port)
            })
        };
        assert_eq!(listening(3306), Some(Socket { inode: 222, uid: 7 }));
        assert_eq!(listening(40_000), None);
    }

    #[test]
    #[cfg(target_endian = "little")]
    fn addresses_of_both_families_are_read() {
        for (text, read) in [
            ("0100007F:0CEA", "127.0.0.1:3306"),
            ("00000000000000000000000001000000:0CEA", "[::1]:3306"),
            (
                "0000000000000000FFFF00000100007F:0CEA",
                "[::ffff:127.0.0.1]:3306",
            ),
        ] {
            assert_eq!(address(text), read.parse().ok(), "{text}");
        }
        for text in ["", ":", "0100007F", "0100007:0CEA", "x100007F:0CEA"] {
            assert_eq!(address(text), None, "{text}");
        }
    }

    #[test]
    fn the_other_end_of_a_connection_has_its_process() {
        for host in ["127.0.0.1", "::1"] {
            let listener = std::net::TcpListener::bind((host, 0)).unwrap();
            let at = listener.local_addr().unwrap();
            let stream = std::net::TcpStream::connect(at).unwrap();
            let accepted = listener.accept().unwrap();
            let socket = connected(at, stream.local_addr().unwrap()).unwrap();
            assert_eq!(holder(&socket), Some(std::process::id()));
            assert_eq!(
                listening(at.port()).and_then(|s| holder(&s)),
                Some(std::process::id())
            );
            drop(accepted);
        }
    }
}
