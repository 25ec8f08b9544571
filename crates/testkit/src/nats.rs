//! A nats-server of one test.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Child;

use tempfile::TempDir;

use crate::{daemon, tls};

/// nats-server from the system's package, with JetStream, on a free port of 127.0.0.1.
#[derive(Debug)]
pub struct NatsServer {
    process: Child,
    port: u16,
    directory: TempDir,
}

impl NatsServer {
    pub fn start() -> Self {
        Self::with("")
    }

    /// Starts it with these lines in its configuration.
    pub fn with(lines: &str) -> Self {
        Self::in_directory(tempfile::tempdir().unwrap(), lines)
    }

    /// Starts it with TLS, by a certificate for the name `localhost`, and with these lines in its
    /// configuration.
    pub fn with_tls(lines: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let files = directory.path().join("tls");
        tls::create(&files, &lab::servers::account().unwrap());
        let [certificate, key] = ["server-cert.pem", "server-key.pem"].map(|name| files.join(name));
        let tls = format!("tls {{ cert_file: {certificate:?}, key_file: {key:?} }}\n{lines}");
        Self::in_directory(directory, &tls)
    }

    fn in_directory(directory: TempDir, lines: &str) -> Self {
        let port = daemon::free_port();
        let store = directory.path().join("store");
        let config = format!(
            "server_name: test\nlisten: \"127.0.0.1:{port}\"\njetstream {{ store_dir: {store:?} }}\n{lines}\n"
        );
        fs::write(directory.path().join("nats.conf"), config).unwrap();
        let process = run(directory.path(), port);
        Self {
            process,
            port,
            directory,
        }
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The authority that signed its certificate.
    pub fn authority(&self) -> PathBuf {
        tls::ca_file(&self.directory().join("tls"))
    }

    /// Its process ID.
    pub fn process(&self) -> u32 {
        self.process.id()
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    pub fn kill(&mut self) {
        daemon::end(&mut self.process);
    }

    /// Starts it again with what it had stored.
    pub fn start_again(&mut self) {
        self.process = run(self.directory.path(), self.port);
    }
}

fn run(directory: &Path, port: u16) -> Child {
    let path = |name: &str| directory.join(name);
    let config = path("nats.conf").display().to_string();
    let is_up = || TcpStream::connect(("127.0.0.1", port)).is_ok();
    // Debian has it where only root's PATH leads.
    let program = "/usr/sbin/nats-server";
    daemon::start("KILL", program, &["-c", &config], &path("log"), is_up)
}

impl Drop for NatsServer {
    fn drop(&mut self) {
        self.kill();
    }
}
