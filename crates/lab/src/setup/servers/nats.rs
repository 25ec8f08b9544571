//! The private nats-server of a study whose load comes from several machines.

use std::fs;
use std::net::{SocketAddr, SocketAddrV4, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use super::files::{append, write_for_server, write_readable};
use super::process::{ProcessId, ServerProcess};
use super::{DataDir, log};
use crate::failure::{Fact, Failure, unless_canceled};
use crate::home::Home;
use crate::port;
use crate::process::POLL_INTERVAL;
use crate::site::{Program, Site, ThisHost};

const NAME: &str = "nats-server";
const START_LIMIT: Duration = Duration::from_secs(60);
const CONNECT_LIMIT: Duration = Duration::from_secs(1);
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
    /// Ends before its directory is removed.
    _process: ServerProcess,
    _data: DataDir,
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
        let data = DataDir::new(home, "nats.", &plan::Node::default(), interrupted)?;
        data.hand_over()?;
        let tls = tls.map(|tls| tls.copy(&data)).transpose()?;
        let config = data.dir().join("nats.conf");
        write_readable(
            &config,
            &configuration(address, &data.own(), tls.as_deref()),
        )?;
        let log = data.dir().join("log");
        let site: Arc<dyn Site> = Arc::new(ThisHost::default());
        let program = Program {
            path: Path::new("/bin/sh"),
            arguments: &[
                "-c".into(),
                GUARDIAN.into(),
                NAME.into(),
                program()?.into(),
                "-c".into(),
                config.into(),
            ],
            input: data.dir(),
            log: append(&log)?,
        };
        let first = site.spawn(home, program)?;
        let mut process = ServerProcess::new(first, &site, &ProcessId::default(), &data)?;
        wait(&mut process, address, &log, interrupted)?;
        Ok(Self {
            address,
            has_tls: tls.is_some(),
            _process: process,
            _data: data,
        })
    }

    pub fn url(&self) -> String {
        let scheme = if self.has_tls { "tls" } else { "nats" };
        format!("{scheme}://{}", self.address)
    }
}

const LISTEN: &str = "load.nats_listen";

impl NatsTls {
    /// Copies the files, which only the user that runs dyno may be able to read; returns the lines
    /// of the configuration that name them.
    fn copy(&self, data: &DataDir) -> Result<String, Failure> {
        let files = [
            ("ca_file", &self.ca),
            ("cert_file", &self.certificate),
            ("key_file", &self.key),
        ];
        let lines = files.map(|(name, file)| {
            let text = fs::read_to_string(file).map_err(Failure::at("read", file))?;
            let copy = data.dir().join(name);
            write_for_server(&copy, &text, data.home().account())?;
            Ok(format!("  {name}: {copy:?}\n"))
        });
        let lines = lines.into_iter().collect::<Result<String, Failure>>()?;
        Ok(format!("tls {{\n{lines}  verify: true\n}}\n"))
    }
}

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

fn configuration(address: SocketAddr, own: &Path, tls: Option<&str>) -> String {
    let store = own.join("store");
    format!(
        "server_name: dyno\nlisten: \"{address}\"\nmax_payload: {MAX_PAYLOAD_BYTES}\n\
         jetstream {{ store_dir: {store:?} }}\n{}",
        tls.unwrap_or_default()
    )
}

/// The program, where Debian and others install it.
fn program() -> Result<PathBuf, Failure> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let places =
        std::env::split_paths(&path).chain(["/usr/sbin", "/usr/local/bin"].map(PathBuf::from));
    let found = places
        .map(|place| place.join(NAME))
        .find(|program| program.is_file());
    found.ok_or_else(|| {
        Failure::usage(
            "no nats-server on this host, to connect the agents that the load comes from",
        )
        .remedy(
            "install it with scripts/install-servers.sh nats, or name a running one with load.nats",
        )
        .fact(Fact::NoProgram)
    })
}

fn wait(
    process: &mut ServerProcess,
    address: SocketAddr,
    log: &Path,
    interrupted: &AtomicBool,
) -> Result<(), Failure> {
    let deadline = Instant::now() + START_LIMIT;
    let words = || log::read_tail(log, 0);
    while TcpStream::connect_timeout(&address, CONNECT_LIMIT).is_err() {
        if let Some(how) = process.ended(false) {
            return Err(Failure::server(log::ended(NAME, &how, &words())));
        }
        unless_canceled(interrupted)?;
        if Instant::now() > deadline {
            return Err(log::too_slow(NAME, "answer", START_LIMIT, &words()));
        }
        std::thread::sleep(POLL_INTERVAL);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::net::TcpListener;
    use std::os::unix::process::CommandExt;
    use std::process::{Command, Stdio};

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
        let data = server._data.dir().to_owned();
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
