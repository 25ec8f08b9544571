//! Finds the process of a server that dyno did not start, if it runs on this host.
//!
//! A local port or socket may belong to a proxy, a tunnel or a container. The process at the other
//! end is therefore accepted only if its working directory is the server's data directory, which
//! holds for every supported server.

use std::fs;
use std::io::ErrorKind;
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use client::net::Peer;
use engine::{Database, ENGINES, Engine, ServerLocation};
use host::{Files, process, sockets};

/// A server's process and data directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FoundProcess {
    pub(crate) pid: u32,
    /// `None` if the process has another root file system, such as a container's.
    pub(crate) data_dir: Option<PathBuf>,
}

pub(crate) fn find(files: &dyn Files, database: &dyn Database) -> Result<FoundProcess, String> {
    let server = database.server().ok_or("it runs in process")?;
    let mut found = None;
    server.locate(&mut |server| {
        let search = Search { files, server };
        found = Some(search.process());
    })?;
    found.unwrap_or_else(|| Err("the server does not report its data directory".to_owned()))
}

struct Search<'a> {
    files: &'a dyn Files,
    /// What the server reports about itself, and the other end of the connection.
    server: &'a ServerLocation,
}

impl Search<'_> {
    fn process(&self) -> Result<FoundProcess, String> {
        let pid = match self.server.peer {
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
                        "no process in this network namespace holds {remote}: the server may run in \
                         a container"
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

    /// The only server process of the user who opened the socket. Used when this user may not see
    /// which process holds the socket.
    fn only_server_of(&self, uid: u32) -> Result<u32, String> {
        let is_servers = |pid: &u32| {
            let owner = fs::metadata(format!("/proc/{pid}")).map(|process| process.uid());
            owner.is_ok_and(|owner| owner == uid) && self.runs_server(*pid)
        };
        let mut servers: Vec<u32> = sockets::processes().filter(is_servers).collect();
        let pid_file = host::text(self.files, &self.server.pid_file).unwrap_or_default();
        let number = pid_file.lines().next().unwrap_or_default();
        if let Ok(pid) = number.trim().parse::<u32>() {
            servers.retain(|server| *server == pid);
        }
        match servers.as_slice() {
            [only] => Ok(*only),
            _ => Err(
                "only root and the server's own user may see which process holds its port"
                    .to_owned(),
            ),
        }
    }

    /// Checks that a process is the server itself and not a proxy or a tunnel.
    fn confirm(&self, pid: u32) -> Result<FoundProcess, String> {
        let below_root = format!("/proc/{pid}/root{}", self.server.data_dir.display());
        let is_server = match (identity(format!("/proc/{pid}/cwd")), identity(below_root)) {
            (Ok(works_in), Ok(data)) => works_in == data,
            (Err(ErrorKind::PermissionDenied), _) => self.runs_server(pid),
            _ => false,
        };
        if !is_server {
            let name = host::line(self.files, format!("/proc/{pid}/comm")).unwrap_or_default();
            return Err(format!(
                "process {pid} ({name}) holds the other end of the connection, but its working \
                 directory is not the server's data directory {}: it is a proxy or a tunnel",
                self.server.data_dir.display()
            ));
        }
        let shares_files = match identity(format!("/proc/{pid}/root")) {
            Ok(root) => identity("/") == Ok(root),
            Err(_) => true,
        };
        Ok(FoundProcess {
            pid: self.first_of_program(pid),
            data_dir: shares_files.then(|| self.server.data_dir.clone()),
        })
    }

    /// The server's main process if `pid` is a child that serves a connection: children run the
    /// same program in the same directory.
    fn first_of_program(&self, mut pid: u32) -> u32 {
        let is_same = |one: u32, other: u32| {
            ["exe", "cwd"].iter().all(|link| {
                let of = |pid: u32| identity(format!("/proc/{pid}/{link}"));
                of(one).is_ok_and(|file| of(other) == Ok(file))
            })
        };
        let parent = |pid| process::parent(self.files, pid);
        while let Some(parent) = parent(pid).filter(|parent| is_same(pid, *parent)) {
            pid = parent;
        }
        pid
    }

    /// Whether a process's command line names a server program.
    fn runs_server(&self, pid: u32) -> bool {
        let words = host::text(self.files, format!("/proc/{pid}/cmdline")).unwrap_or_default();
        words.split('\0').any(|word| {
            let name = Path::new(word).file_name().unwrap_or_default();
            let servers = ENGINES.into_iter().filter_map(Engine::server);
            let mut programs = servers.flat_map(|server| server.traits().programs);
            programs.any(|program| name == *program)
        })
    }
}

/// The device and inode of a file.
fn identity(path: impl AsRef<Path>) -> Result<(u64, u64), ErrorKind> {
    let file = fs::metadata(path).map_err(|error| error.kind())?;
    Ok((file.dev(), file.ino()))
}

/// Whether an address belongs to this host: only then can a socket be bound to it.
pub(crate) fn is_own(address: IpAddr) -> bool {
    address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
}

#[cfg(test)]
mod tests;
