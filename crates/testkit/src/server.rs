//! One running server.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use engine::Installed;
use engine::data::Listener;
use lab::servers::{self, DataDir, Node, NodeSpec, ProcessId};
use lab::template::Templates;
use machine::home::Home;
use machine::site::ThisHost;

use crate::{daemon, tls};

/// Connections that a test has at most, unless its own options say otherwise.
const CONNECTIONS: u32 = 100;

/// The most that templates for tests take on the disk.
const CACHE_BYTES: u64 = 2 << 30;

/// A test is ended by its runner, not by this.
pub(crate) static NEVER: AtomicBool = AtomicBool::new(false);

/// A database server program the kit can start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    MariaDb,
    MySql,
}

impl Engine {
    /// The server program; panics with what to do if it is not installed.
    pub(crate) fn installed(self) -> Installed {
        let engine = match self {
            Engine::MariaDb => engine::MARIADB,
            Engine::MySql => engine::MYSQL,
        };
        find(engine)
    }

    /// The engine's own command-line client, which comes with the server program.
    pub(crate) fn client(self, installed: &Installed) -> PathBuf {
        match self {
            Engine::MariaDb => PathBuf::from("/usr/bin/mariadb"),
            Engine::MySql => installed.program.with_file_name("mysql"),
        }
    }
}

#[derive(Debug, Clone)]
pub struct Builder {
    engine: Engine,
    options: Vec<(String, String)>,
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
    pub fn options(mut self, options: &[&str]) -> Builder {
        self.options.extend(settings(options));
        self
    }

    /// Gives the server a certificate for `localhost`, signed by [`Server::ca_file`].
    ///
    /// Without it MariaDB 10.11 has no TLS, and MySQL has a certificate that it made itself.
    pub fn tls(mut self, tls: bool) -> Builder {
        self.tls = tls;
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> Server {
        let (home, installed) = (home(), self.engine.installed());
        let tls_dir = home.run_dir().join("tls");
        let mut config = vec![("innodb_buffer_pool_size".to_owned(), "64M".to_owned())];
        if self.tls {
            config.extend(tls::create(&tls_dir, home.account()));
        }
        config.extend(self.options);
        Server {
            engine: self.engine,
            private: start(&home, &installed, data(&home, &installed), &config, true),
            installed,
            tls_dir: self.tls.then_some(tls_dir),
        }
    }
}

/// The engine's server program; panics with what to do if it is not installed.
pub(crate) fn find(engine: &'static dyn engine::Server) -> Installed {
    servers::find(engine, None, None)
        .unwrap_or_else(|e| panic!("{e}: {}", e.remedy.as_deref().unwrap_or_default()))
}

/// The place of the tests' servers and templates, the same for all tests of a user.
pub(crate) fn home() -> Home {
    servers::open_home(&crate::kept_root(), CACHE_BYTES).unwrap_or_else(|e| panic!("{e}"))
}

/// A copy of an engine's template.
pub(crate) fn data(home: &Home, installed: &Installed) -> DataDir {
    let mut listener = Listener {
        tell: &mut |_| {},
        interrupted: &NEVER,
    };
    let templates = Templates::new(home, installed, &[]);
    let template = templates.and_then(|templates| templates.empty(&mut listener));
    let copy = template.and_then(|template| template.copy(1));
    copy.unwrap_or_else(|e| panic!("{e}")).0
}

pub(crate) fn start(
    home: &Home,
    installed: &Installed,
    data: DataDir,
    config: &[(String, String)],
    is_open: bool,
) -> Node {
    let (site, keep) = (Arc::new(ThisHost::default()), home.run_dir().join("kept"));
    let spec = NodeSpec {
        config: config.to_vec(),
        is_open,
        ..NodeSpec::new(1, CONNECTIONS, site, &keep)
    };
    servers::start(installed, spec, data, &NEVER).unwrap_or_else(|e| panic!("{e}"))
}

/// Options of a command line, `--name=value`, as settings of a configuration file.
pub(crate) fn settings(options: &[&str]) -> Vec<(String, String)> {
    let setting = |option: &&str| {
        let option = option.trim_start_matches('-');
        let (name, value) = option.split_once('=').unwrap_or((option, ""));
        (name.to_owned(), value.to_owned())
    };
    options.iter().map(setting).collect()
}

pub(crate) fn log_of(server: &Node) -> String {
    String::from_utf8_lossy(&fs::read(server.log_path()).unwrap_or_default()).into_owned()
}

/// A running server; dropping it kills it and removes its files.
#[derive(Debug)]
pub struct Server {
    engine: Engine,
    installed: Installed,
    private: Node,
    tls_dir: Option<PathBuf>,
}

impl Server {
    pub fn engine(&self) -> Engine {
        self.engine
    }

    /// Its process, followed through restarts.
    pub fn process(&self) -> ProcessId {
        self.private.process().clone()
    }

    pub fn port(&self) -> u16 {
        self.private.port()
    }

    pub fn socket(&self) -> PathBuf {
        self.private.socket()
    }

    pub fn data_dir(&self) -> PathBuf {
        self.private.data_dir()
    }

    pub fn pid(&self) -> Option<u32> {
        self.private.pid()
    }

    /// The authority that signed its certificate; a MariaDB started without TLS has none.
    pub fn ca_file(&self) -> PathBuf {
        match (&self.tls_dir, self.engine) {
            (Some(dir), _) => tls::ca_file(dir),
            (None, Engine::MySql) => self.data_dir().join("ca.pem"),
            (None, Engine::MariaDb) => panic!("this server has no TLS: start it with .tls(true)"),
        }
    }

    /// `root`'s address of the database `db`.
    pub fn url(&self, db: &str) -> String {
        self.private.url(db)
    }

    pub fn log(&self) -> String {
        log_of(&self.private)
    }

    /// Runs statements as `root` in `sbtest` by the engine's own client; the rows of all of them, as text.
    /// A NULL is the text `NULL`.
    pub fn sql(&self, text: &str) -> Vec<Vec<String>> {
        let mut command = self.client();
        command.args(["--batch", "--skip-column-names", "sbtest"]);
        let rows = daemon::feed(command, text);
        rows.lines()
            .map(|line| line.split('\t').map(unescape).collect())
            .collect()
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
        self.private.kill();
    }

    /// Stops it unless it was killed, and starts it again on its data and port.
    pub fn restart(&mut self) {
        let restarted = self.private.restart(&NEVER);
        restarted.unwrap_or_else(|e| panic!("{e}"));
    }

    fn client(&self) -> Command {
        let mut command = Command::new(self.engine.client(&self.installed));
        command.args(["--no-defaults", "--user=root"]);
        command.arg("--default-character-set=utf8mb4");
        command.arg(format!("--socket={}", self.socket().display()));
        command
    }
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
