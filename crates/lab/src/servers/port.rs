//! Ports of 127.0.0.1: free ones, and who has a taken one.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, TcpListener};

use crate::error::LabError;

/// The state LISTEN in /proc/net/tcp.
const LISTEN: &str = "0A";

/// A port that nobody has now; somebody may before the server does.
pub(super) fn free() -> Result<u16, LabError> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0));
    let address = listener.and_then(|listener| listener.local_addr());
    address
        .map(|address| address.port())
        .map_err(LabError::at("find a free port on", "127.0.0.1".as_ref()))
}

/// Makes sure that nobody listens on a port.
pub(super) fn check_free(port: u16) -> Result<(), LabError> {
    match TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(taken(port)),
        Err(error) => Err(LabError::at("listen on port", port.to_string().as_ref())(
            error,
        )),
    }
}

/// The error about a port that somebody has.
pub(super) fn taken(port: u16) -> LabError {
    LabError::PortTaken {
        port,
        by: listener(port),
    }
}

/// Who listens on a port, as far as this user may see.
fn listener(port: u16) -> Option<String> {
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let text: String = tables
        .iter()
        .filter_map(|table| fs::read_to_string(table).ok())
        .collect();
    let link = format!("socket:[{}]", inode(&text, port)?);
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let pids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let mut holders = pids.filter(|pid| has_open(*pid, &link));
    let pid = holders.next()?;
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(format!("{} (process {pid})", name.trim()))
}

/// The inode of the socket that listens on a port, of a table like /proc/net/tcp.
fn inode(table: &str, port: u16) -> Option<u64> {
    let suffix = format!(":{port:04X}");
    let rows = table
        .lines()
        .map(|row| row.split_whitespace().collect::<Vec<_>>());
    let mut listening = rows.filter(|row| {
        row.get(1).is_some_and(|local| local.ends_with(&suffix)) && row.get(3) == Some(&LISTEN)
    });
    listening.next()?.get(9)?.parse().ok()
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
    fn who_has_a_taken_port_is_told() {
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

    #[test]
    fn only_a_listening_socket_counts() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
             0: 0100007F:0CEA 0100007F:9C40 01 0:0 0:0 0 0 0 111 1\n\
             1: 0100007F:0CEA 00000000:0000 0A 00000000:00000000 00:00000000 00000000 0 0 222 1\n";
        assert_eq!(inode(table, 3306), Some(222));
        assert_eq!(inode(table, 40_000), None);
    }
}
