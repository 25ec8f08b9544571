//! HAProxy in front of servers, as it is often run in front of a primary and its standbys.

use std::net::TcpStream;
use std::process::Child;

use tempfile::TempDir;

use crate::daemon;

/// HAProxy from the system's package. It forwards to the first server that accepts connections, and
/// cuts those to a server that does not any more.
#[derive(Debug)]
pub struct HaProxy {
    process: Child,
    port: u16,
    _directory: TempDir,
}

impl HaProxy {
    /// Starts it on a free port of 127.0.0.1, for servers at these ports.
    pub fn start(upstreams: &[u16]) -> Self {
        let port = daemon::free_port();
        let server = |(number, upstream): (usize, &u16)| {
            let backup = if number > 0 { " backup" } else { "" };
            format!(
                "  server s{number} 127.0.0.1:{upstream} check inter 100ms rise 1 fall 1 \
                 on-marked-down shutdown-sessions{backup}\n"
            )
        };
        let servers: String = upstreams.iter().enumerate().map(server).collect();
        let config = format!(
            "defaults\n  mode tcp\n  timeout connect 5s\n  timeout client 1h\n  timeout server 1h\n\
             listen servers\n  bind 127.0.0.1:{port}\n{servers}"
        );
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("haproxy.cfg");
        std::fs::write(&file, config).unwrap();
        let (log, file) = (directory.path().join("log"), file.display().to_string());
        let is_up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
        let process = daemon::start("KILL", "haproxy", &["-db", "-f", &file], &log, is_up);
        Self {
            process,
            port,
            _directory: directory,
        }
    }

    pub fn port(&self) -> u16 {
        self.port
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        daemon::end(&mut self.process);
    }
}
