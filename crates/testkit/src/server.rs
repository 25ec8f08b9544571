//! One running server.

use std::fs::{self, File};
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::engine::Engine;
use crate::process::{self, Account};
use crate::{home, template, tls};

/// How long a server may take until it accepts connections.
const START_LIMIT: Duration = Duration::from_secs(60);
/// A free port can be taken by someone else before the server has it; then another one is tried.
const MAX_PORT_TRIES: u32 = 5;
/// How much of the error log a failure shows.
const LOG_TAIL_LINES: usize = 30;

/// What server to start.
#[derive(Debug, Clone)]
pub struct Builder {
    engine: Engine,
    options: Vec<String>,
    tls: bool,
}

impl Builder {
    pub(crate) fn new(engine: Engine) -> Builder {
        Builder {
            engine,
            options: Vec::new(),
            tls: false,
        }
    }

    /// Adds options of the server program (`--name=value`); they win over the kit's own.
    #[must_use]
    pub fn options(mut self, options: &[&str]) -> Builder {
        self.options
            .extend(options.iter().map(|&option| option.to_owned()));
        self
    }

    /// Gives the server a certificate for `localhost`, signed by [`Server::ca_file`].
    ///
    /// Without it MariaDB 10.11 has no TLS, and MySQL has a certificate that it made itself.
    #[must_use]
    pub fn tls(mut self, tls: bool) -> Builder {
        self.tls = tls;
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> Server {
        let account = Account::for_servers();
        let dir = home::new_run_dir(&account);
        template::copy_to(self.engine, &dir.join("data"), &account);
        let mut options = self.engine.base_options();
        options.push(format!("--datadir={}", dir.join("data").display()));
        options.push(format!("--socket={}", dir.join("s.sock").display()));
        options.push(format!("--pid-file={}", dir.join("pid").display()));
        options.push("--bind-address=127.0.0.1".to_owned());
        if self.tls {
            options.extend(tls::create(&dir.join("tls"), &account));
        }
        options.extend(self.options);
        let mut server = Server {
            engine: self.engine,
            dir,
            options,
            port: 0,
            child: None,
            tls: self.tls,
        };
        server.start();
        server
    }
}

/// A running server; dropping it kills it and removes its files.
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    /// Everything of this server is below it: data, socket, error log, certificates.
    dir: PathBuf,
    options: Vec<String>,
    port: u16,
    child: Option<Child>,
    tls: bool,
}

impl Server {
    /// Which engine it is.
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// The port it listens on, on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The Unix socket it listens on.
    pub fn socket(&self) -> PathBuf {
        self.dir.join("s.sock")
    }

    /// Its data directory.
    pub fn data_dir(&self) -> PathBuf {
        self.dir.join("data")
    }

    /// Its process, while it runs.
    pub fn pid(&self) -> Option<u32> {
        self.child.as_ref().map(Child::id)
    }

    /// The authority that signed its certificate; a MariaDB started without TLS has none.
    pub fn ca_file(&self) -> PathBuf {
        match (self.tls, self.engine) {
            (true, _) => tls::ca_file(&self.dir.join("tls")),
            (false, Engine::MySql) => self.data_dir().join("ca.pem"),
            (false, Engine::MariaDb) => panic!("this server has no TLS: start it with .tls(true)"),
        }
    }

    /// `root`'s address of the database `db`.
    pub fn url(&self, db: &str) -> String {
        format!("mysql://root@127.0.0.1:{}/{db}", self.port)
    }

    /// Its error log so far.
    pub fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(self.log_file()).unwrap_or_default()).into_owned()
    }

    /// Runs statements as `root` in `sbtest` by the engine's own client; the rows of all of them, as text.
    /// A NULL is the text `NULL`.
    pub fn sql(&self, text: &str) -> Vec<Vec<String>> {
        self.sql_in("sbtest", text)
    }

    /// Creates an account that may do everything, from any address. `plugin` is the server's name of the
    /// authentication: `mysql_native_password`, `caching_sha2_password`, `ed25519`, …
    pub fn create_user(&self, name: &str, password: &str, plugin: &str, require_tls: bool) {
        let password = quote(password);
        let identified = match self.engine {
            Engine::MariaDb => format!("VIA {plugin} USING PASSWORD({password})"),
            Engine::MySql => format!("WITH {plugin} BY {password}"),
        };
        if self.engine == Engine::MariaDb && plugin == "ed25519" {
            self.sql("INSTALL SONAME 'auth_ed25519'");
        }
        let user = format!("{}@'%'", quote(name));
        let require = if require_tls { "SSL" } else { "NONE" };
        self.sql(&format!(
            "CREATE USER {user} IDENTIFIED {identified} REQUIRE {require}; GRANT ALL ON *.* TO {user}"
        ));
    }

    /// Kills it as `kill -9` would. Its files stay until it is dropped.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }

    /// Starts it again on its data, after [`Server::kill`]. The port stays the same if it is still free.
    pub fn restart(&mut self) {
        self.kill();
        self.start();
    }

    fn start(&mut self) {
        assert!(
            self.socket().as_os_str().len() < 108,
            "{} is too long for a socket",
            self.socket().display()
        );
        for _ in 0..MAX_PORT_TRIES {
            if self.port == 0 {
                let free =
                    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
                self.port = free.expect("a free port").port();
            }
            match self.try_start() {
                Ok(()) => {
                    self.sql_in("mysql", "CREATE DATABASE IF NOT EXISTS sbtest");
                    return;
                }
                Err(reason) => {
                    self.kill();
                    let log = self.log();
                    let lines: Vec<&str> = log.lines().collect();
                    let tail = lines[lines.len().saturating_sub(LOG_TAIL_LINES)..].join("\n");
                    assert!(
                        tail.contains("Address already in use"),
                        "{} {reason}; its error log ends:\n{tail}",
                        self.engine.name()
                    );
                    self.port = 0;
                }
            }
        }
        panic!(
            "{}: {MAX_PORT_TRIES} free ports were each taken before the server had it",
            self.engine.name()
        );
    }

    fn try_start(&mut self) -> Result<(), String> {
        // Left by a server that was killed: it must not be taken for the new one's.
        let _ = fs::remove_file(self.socket());
        let log = File::create(self.log_file()).expect("the server's directory can be written");
        let mut command = Account::for_servers().command(&self.engine.server());
        command
            .args(&self.options)
            .arg(format!("--port={}", self.port));
        command.stdout(log.try_clone().unwrap()).stderr(log);
        self.child = Some(process::spawn(command).unwrap_or_else(|e| panic!("setpriv: {e}")));
        let deadline = Instant::now() + START_LIMIT;
        while UnixStream::connect(self.socket()).is_err() {
            if let Ok(Some(status)) = self.child.as_mut().unwrap().try_wait() {
                return Err(format!("did not start ({status})"));
            }
            if Instant::now() > deadline {
                return Err(format!("did not answer in {} s", START_LIMIT.as_secs()));
            }
            sleep(Duration::from_millis(10));
        }
        Ok(())
    }

    fn log_file(&self) -> PathBuf {
        self.dir.join("error.log")
    }

    fn sql_in(&self, database: &str, text: &str) -> Vec<Vec<String>> {
        let mut command = client(self.engine, &self.socket());
        command.args(["--batch", "--skip-column-names", database]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command
            .spawn()
            .unwrap_or_else(|e| panic!("{command:?}: {e}"));
        let mut stdin = child.stdin.take().unwrap();
        // A client that ends at a wrong statement reads no further; what it said is what matters.
        let _ = stdin.write_all(text.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{} refused: {}\nin: {text}",
            self.engine.name(),
            String::from_utf8_lossy(&output.stderr)
        );
        let rows = String::from_utf8_lossy(&output.stdout);
        rows.lines()
            .map(|line| line.split('\t').map(unescape).collect())
            .collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
        let _ = fs::remove_dir_all(&self.dir);
    }
}

fn client(engine: Engine, socket: &Path) -> Command {
    let mut command = Command::new(engine.client());
    command.args([
        "--no-defaults",
        "--user=root",
        "--default-character-set=utf8mb4",
    ]);
    command.arg(format!("--socket={}", socket.display()));
    command
}

fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'"))
}

/// Undoes what the clients do to a value in batch mode.
fn unescape(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next() {
                Some('n') => '\n',
                Some('t') => '\t',
                Some('0') => '\0',
                Some(other) => other,
                None => '\\',
            },
            other => other,
        });
    }
    text
}
