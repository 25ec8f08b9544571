//! The private nats-server of a study whose load comes from several machines.

use std::ffi::OsString;
use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::replication::Service;
use engine::{Invocation, ServerFile};

use super::Services;
use crate::failure::{Fact, Failure};
use crate::home::Home;
use crate::port;
use crate::site::ThisHost;

const NAME: &str = "nats-server";
const CONFIG: &str = "nats.conf";
const HOW_TO_INSTALL: &str =
    "install it with scripts/install-servers.sh nats, or name a running one with load.nats";
/// Bytes of a message, which may have scripts in it.
const MAX_PAYLOAD_BYTES: u32 = 8 << 20;
/// Runs the server, which outlives dyno by 4 to 5 s if dyno is killed: agents that can ask it learn
/// at once that nobody answers any more. Then it ends its process group.
const GUARDIAN: &str = r#"{ tail --pid=$$ -f /dev/null; sleep 4; kill -9 0; } &
guardian=$!
"$@" &
wait $!
status=$?
kill $guardian
exit $status"#;

/// The files that identify a nats-server and its clients to each other, as PEM.
#[derive(Debug, Clone)]
pub struct NatsTls {
    /// The authority that signed all certificates.
    pub ca: PathBuf,
    pub certificate: PathBuf,
    pub key: PathBuf,
}

/// A nats-server that ends when this value is dropped, and shortly after dyno if dyno is killed.
#[derive(Debug)]
pub struct NatsServer {
    address: SocketAddr,
    has_tls: bool,
    _running: Services,
}

impl NatsServer {
    /// Starts it, and waits until it accepts connections. Beyond the loopback interface, both sides
    /// need certificates.
    pub fn start(
        home: &Home,
        listen: SocketAddr,
        tls: Option<&NatsTls>,
        interrupted: &AtomicBool,
    ) -> Result<Self, Failure> {
        if !listen.ip().is_loopback() && tls.is_none() {
            let message =
                format!("other machines reach a nats-server at {listen}, so it needs TLS");
            let remedy = "name its certificate, its key, and the authority of all certificates in NATS_CERT, NATS_KEY, and NATS_CA";
            return Err(Failure::usage(message).remedy(remedy).key(LISTEN));
        }
        if listen.ip().is_unspecified() {
            let message = format!("no machine can connect to {listen}");
            let remedy = "name the address of this machine that agents reach";
            return Err(Failure::usage(message).remedy(remedy).key(LISTEN));
        }
        let address = free(listen)?;
        let service = |dir: &Path, own: &Path| Ok(vec![service(address, tls, dir, own)?]);
        let (site, logs) = (Arc::new(ThisHost::default()), home.new_path("nats"));
        Ok(Self {
            address,
            has_tls: tls.is_some(),
            _running: Services::run_all(service, site, home, &logs, interrupted)?,
        })
    }

    pub fn url(&self) -> String {
        let scheme = if self.has_tls { "tls" } else { "nats" };
        format!("{scheme}://{}", self.address)
    }
}

const LISTEN: &str = "load.nats_listen";

/// The address with a port that nobody uses.
fn free(listen: SocketAddr) -> Result<SocketAddr, Failure> {
    match listen {
        SocketAddr::V4(listen) if listen.port() != 0 => {
            let taken = |failure: Failure| match failure.is(Fact::PortTaken) {
                true => failure
                    .remedy("choose another port, or stop that process")
                    .key(LISTEN),
                false => failure,
            };
            port::check_free(SocketAddrV4::new(*listen.ip(), listen.port())).map_err(taken)?;
            Ok(SocketAddr::V4(listen))
        }
        _ if listen.port() != 0 => Ok(listen),
        _ => Ok(SocketAddr::new(listen.ip(), port::free(listen.ip())?)),
    }
}

/// The server with copies of its files, which only the user that runs dyno may be able to read.
fn service(
    address: SocketAddr,
    tls: Option<&NatsTls>,
    dir: &Path,
    own: &Path,
) -> Result<Service, Failure> {
    let store = own.join("store");
    let mut config = format!(
        "server_name: dyno\nlisten: \"{address}\"\nmax_payload: {MAX_PAYLOAD_BYTES}\n\
         jetstream {{ store_dir: {store:?} }}\n"
    );
    let mut files = Vec::new();
    if let Some(NatsTls {
        ca,
        certificate,
        key,
    }) = tls
    {
        config.push_str("tls {\n  verify: true\n");
        for (name, file) in [
            ("ca_file", ca),
            ("cert_file", certificate),
            ("key_file", key),
        ] {
            let text = fs::read_to_string(file).map_err(Failure::at("read", file))?;
            config.push_str(&format!("  {name}: {:?}\n", dir.join(name)));
            files.push(ServerFile::new(name, text));
        }
        config.push_str("}\n");
    }
    files.push(ServerFile::new(CONFIG, config));
    let program = engine::helper(NAME, HOW_TO_INSTALL)?.into_os_string();
    let shell = ["-c", GUARDIAN, NAME].map(OsString::from);
    let arguments = [program, "-c".into(), dir.join(CONFIG).into()];
    Ok(Service {
        name: NAME,
        invocation: Invocation::new("/bin/sh", shell.into_iter().chain(arguments)),
        files,
        address,
        health: None,
    })
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::{TcpListener, TcpStream};
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    use super::*;
    use crate::for_tests::new_home;
    use crate::process::{NEVER, poll};

    fn start(home: &Home, listen: &str) -> Result<NatsServer, Failure> {
        NatsServer::start(home, listen.parse().unwrap(), None, &NEVER)
    }

    #[test]
    fn it_stores_messages_and_ends_when_it_is_dropped() {
        let (_dir, home) = new_home();
        let server = start(&home, "127.0.0.1:0").unwrap();
        let address = server.url().replace("nats://", "");
        let mut said = String::new();
        let mut connection = BufReader::new(TcpStream::connect(&address).unwrap());
        connection.read_line(&mut said).unwrap();
        assert!(said.contains("\"jetstream\":true"), "{said}");
        let again = start(&home, &address).unwrap_err();
        assert_eq!(again.key.as_deref(), Some(LISTEN), "{again:?}");
        let data = server._running.data.dir().to_owned();
        drop(server);
        assert!(TcpListener::bind(&address).is_ok() && !data.exists());
    }

    #[test]
    fn without_tls_only_this_machine_reaches_it() {
        let (_dir, home) = new_home();
        let refused = start(&home, "0.0.0.0:0").unwrap_err();
        assert!(refused.message.contains("needs TLS"), "{refused:?}");
    }

    #[test]
    fn it_outlives_what_started_it_by_seconds() {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, NAME, "sh", "-c", "echo $$; exec sleep 600"]);
        guardian.process_group(0).stdout(Stdio::piped());
        let mut guardian = guardian.spawn().unwrap();
        let mut output = BufReader::new(guardian.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let server = format!("/proc/{}", line.trim());
        guardian.kill().unwrap();
        let killed = Instant::now();
        guardian.wait().unwrap();
        assert!(
            poll(Duration::from_secs(300), || (!Path::new(&server).exists())
                .then_some(()))
            .is_some()
        );
        assert!(killed.elapsed() >= Duration::from_secs(3));
    }

    #[test]
    fn a_server_that_ends_takes_its_guardian_along() {
        let mut guardian = Command::new("sh");
        guardian.args(["-c", GUARDIAN, NAME, "sh", "-c", "exit 7"]);
        assert_eq!(guardian.status().unwrap().code(), Some(7));
    }
}
