//! Servers that are none, and what nobody may find in a directory.

use std::fs;
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::net::{AddressFamily, SocketType, bind, getsockname, socket};

/// A server of the test's own: `talk` gets each connection. Gives its URL of this scheme.
pub fn pretend(scheme: &str, talk: impl Fn(TcpStream) + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || listener.incoming().flatten().for_each(talk));
    format!("{scheme}://root@127.0.0.1:{port}/sbtest")
}

/// A port of 127.0.0.1 that refuses connections, for nobody else gets it while the socket is there.
pub fn refusing_port() -> (OwnedFd, u16) {
    let socket = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
    bind(&socket, &SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = SocketAddrV4::try_from(getsockname(&socket).unwrap()).unwrap();
    (socket, address.port())
}

/// The command line of a process.
pub fn command_line(pid: u32) -> String {
    let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap();
    String::from_utf8_lossy(&words).into_owned()
}

/// Fails if a file below this directory contains a secret.
#[track_caller]
pub fn assert_no_file_has(dir: &Path, secrets: &[&str]) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            assert_no_file_has(&path, secrets);
            continue;
        }
        let bytes = fs::read(&path).unwrap();
        let text = String::from_utf8_lossy(&bytes);
        for secret in secrets {
            assert!(!text.contains(secret), "{}", path.display());
        }
    }
}
