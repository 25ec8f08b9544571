//! HAProxy in front of servers, as it is often run in front of a primary and its standbys.

use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// How long it may take to listen on its port.
const START_LIMIT: Duration = Duration::from_secs(60);

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
        let port = free_port();
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
        let directory = tempfile::tempdir().expect("a directory for HAProxy");
        let file = directory.path().join("haproxy.cfg");
        std::fs::write(&file, config).expect("HAProxy's configuration");
        // It dies with the test.
        let process = Command::new("setpriv")
            .args(["--pdeathsig", "KILL", "haproxy", "-db", "-f"])
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("setpriv and haproxy are installed (scripts/install-servers.sh)");
        let mut proxy = Self {
            process,
            port,
            _directory: directory,
        };
        proxy.wait_until_it_listens();
        proxy
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    fn wait_until_it_listens(&mut self) {
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            let ended = self.process.try_wait().expect("the state of HAProxy");
            assert!(ended.is_none(), "HAProxy ended: {ended:?}");
            assert!(begun.elapsed() < START_LIMIT, "HAProxy does not listen");
            std::thread::sleep(Duration::from_millis(10));
        }
    }
}

impl Drop for HaProxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("its address").port()
}
