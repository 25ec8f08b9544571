//! The process of a server that dyno did not start, where it runs on this host.
//!
//! A port or a socket of this host may belong to a proxy, a tunnel or a container, so the
//! process at the other end counts only when it works in the data directory that the server
//! names: engines change into it.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use client::net::Peer;
use engine::{Database, ENGINES, Engine, Server, Whereabouts};

use host::{process, sockets};

use crate::home::FILES;

/// A process, and where its data lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) pid: u32,
    /// `None` where its file systems are not this process's.
    pub(crate) data_dir: Option<PathBuf>,
}

/// Finds the process of a server.
///
/// # Errors
/// Why it cannot be seen.
pub(crate) fn find(database: &dyn Database) -> Result<Found, String> {
    let mut found = None;
    database.locate(&mut |server| found = Some(Said(server.clone()).process()))?;
    found.unwrap_or_else(|| Err("the server does not say where it is".to_owned()))
}

/// What a server says of itself, and who is at the other end of the connection.
struct Said(Whereabouts);

impl Said {
    fn process(&self) -> Result<Found, String> {
        let pid = match self.0.peer {
            Some(Peer::Unix { pid: Some(pid) }) => pid,
            None | Some(Peer::Unix { pid: None }) => {
                return Err("it runs in another PID namespace, such as a container's".to_owned());
            }
            Some(Peer::Tcp { local, remote }) => {
                if !is_own(remote.ip()) {
                    return Err(format!("{} is another host", remote.ip()));
                }
                let socket = sockets::connected(remote, local).ok_or_else(|| {
                    format!(
                        "no process in this network namespace has the other end of {remote}: the \
                         server may run in a container"
                    )
                })?;
                match sockets::holder(&socket) {
                    Some(pid) => pid,
                    None => self.only_server_of(socket.uid)?,
                }
            }
        };
        self.confirm(pid)
    }

    /// The process when its sockets may not be looked at, but there is only one server of
    /// their user.
    fn only_server_of(&self, uid: u32) -> Result<u32, String> {
        let is_servers = |pid: &u32| {
            let owner = fs::metadata(format!("/proc/{pid}")).map(|process| process.uid());
            owner.is_ok_and(|owner| owner == uid) && runs_server(*pid)
        };
        let mut servers: Vec<u32> = sockets::processes().filter(is_servers).collect();
        let named = fs::read_to_string(&self.0.pid_file).unwrap_or_default();
        let number = named.lines().next().unwrap_or_default();
        if let Ok(pid) = number.trim().parse::<u32>() {
            servers.retain(|server| *server == pid);
        }
        match servers.as_slice() {
            [only] => Ok(*only),
            _ => Err(
                "only root and the server's own user may see which process has its port".to_owned(),
            ),
        }
    }

    /// Makes sure that a process is the server and not a proxy or a tunnel to it.
    fn confirm(&self, pid: u32) -> Result<Found, String> {
        let below_root = format!("/proc/{pid}/root{}", self.0.data_dir.display());
        let is_servers = match (identity(format!("/proc/{pid}/cwd")), identity(below_root)) {
            (Ok(works_in), Ok(data)) => works_in == data,
            (Err(ErrorKind::PermissionDenied), _) => runs_server(pid),
            _ => false,
        };
        if !is_servers {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
            return Err(format!(
                "process {pid} ({}) is at the other end, but does not work in the server's data \
                 directory {}: a proxy or a tunnel",
                name.trim(),
                self.0.data_dir.display()
            ));
        }
        let shares_files = match identity(format!("/proc/{pid}/root")) {
            Ok(root) => identity("/") == Ok(root),
            Err(_) => true,
        };
        Ok(Found {
            pid: first_of_program(pid),
            data_dir: shares_files.then(|| self.0.data_dir.clone()),
        })
    }
}

/// The process of a server whose connections are served by its children, which run the same
/// program in the same directory; otherwise the process itself.
fn first_of_program(mut pid: u32) -> u32 {
    let is_same = |one: u32, other: u32| {
        ["exe", "cwd"].iter().all(|link| {
            let of = |pid: u32| identity(format!("/proc/{pid}/{link}"));
            of(one).is_ok_and(|file| of(other) == Ok(file))
        })
    };
    while let Some(parent) = process::parent(FILES, pid).filter(|parent| is_same(pid, *parent)) {
        pid = parent;
    }
    pid
}

/// What tells one file from all others.
fn identity(path: impl AsRef<Path>) -> Result<(u64, u64), ErrorKind> {
    let file = fs::metadata(path).map_err(|error| error.kind())?;
    Ok((file.dev(), file.ino()))
}

/// Whether the command line of a process names a server's program.
fn runs_server(pid: u32) -> bool {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let mut words = words.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    words.any(|word| {
        let name = Path::new(&*word).file_name().unwrap_or_default();
        let servers = ENGINES.into_iter().filter_map(Engine::server);
        let mut programs = servers.flat_map(Server::programs);
        programs.any(|program| name == *program)
    })
}

/// Whether an address is this host's: nobody can listen at another one.
pub(crate) fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests;
