//! PostgreSQL, as the laboratory starts it, with `root` as its superuser.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use lab::servers::Node;
use rustix::process::{Pid, Signal, kill_process};

use crate::server::{NEVER, data, find, home, log_of, settings, start};
use crate::{daemon, tls};

/// Long enough for a machine that is busy with other tests.
const STOP_LIMIT: Duration = Duration::from_secs(300);
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// PostgreSQL, as `scripts/install-servers.sh` installs it.
#[derive(Debug)]
pub struct Postgres;

impl Postgres {
    /// Starts a server with these settings (`name=value`); they win over the kit's own.
    pub fn start(settings: &[&str]) -> PostgresServer {
        Self::builder().settings(settings).start()
    }

    /// A server to be described further before it is started.
    pub fn builder() -> PostgresBuilder {
        PostgresBuilder::default()
    }
}

#[derive(Debug, Default)]
pub struct PostgresBuilder {
    settings: Vec<(String, String)>,
    access: Option<String>,
    tls: bool,
}

impl PostgresBuilder {
    /// Adds settings (`name=value`); they win over the kit's own.
    pub fn settings(mut self, added: &[&str]) -> Self {
        self.settings.extend(settings(added));
        self
    }

    /// Replaces the lines of `pg_hba.conf` that let everybody in by TCP. `root` can always
    /// log in through the Unix socket.
    pub fn access(mut self, lines: &str) -> Self {
        self.access = Some(lines.to_owned());
        self
    }

    /// Gives the server a certificate for `localhost`, signed by [`PostgresServer::ca_file`].
    pub fn tls(mut self, tls: bool) -> Self {
        self.tls = tls;
        self
    }

    /// Starts the server and waits until it answers.
    pub fn start(self) -> PostgresServer {
        let (home, installed) = (home(), find(engine::POSTGRES));
        let hba_file = home.run_dir().join("access");
        let access = self.access.as_deref().unwrap_or("host all all all trust");
        let lines = format!("local all root,postgres trust\n{access}\nlocal all all trust\n");
        fs::write(&hba_file, lines).unwrap();
        let own = [
            "max_connections=100",
            "shared_buffers=16MB",
            "fsync=off",
            &format!("hba_file={}", hba_file.display()),
        ];
        let mut config = settings(&own);
        let tls_dir = home.run_dir().join("tls");
        if self.tls {
            let files = tls::create(&tls_dir, home.account()).into_iter();
            config.extend(files.map(|(setting, file)| (format!("{setting}_file"), file)));
            config.extend(settings(&["ssl=on"]));
        }
        config.extend(self.settings);
        // The laboratory does not write these settings, and those in this file win.
        let data = data(&home, &installed);
        let line = |(name, value)| format!("{name} = '{value}'\n");
        let text: String = config.into_iter().map(line).collect();
        fs::write(data.data().join("postgresql.auto.conf"), text).unwrap();
        let private = start(&home, &installed, data, &[], false);
        let server = PostgresServer {
            // A link to the server's program may be without links to the other programs.
            psql: fs::canonicalize(&installed.program)
                .unwrap()
                .with_file_name("psql"),
            socket_directory: private.socket().parent().unwrap().to_owned(),
            private,
            tls_dir,
        };
        server.sql_as("postgres", "CREATE ROLE root SUPERUSER LOGIN");
        server
    }
}

/// A running server; dropping it kills it and removes its files.
#[derive(Debug)]
pub struct PostgresServer {
    psql: PathBuf,
    socket_directory: PathBuf,
    private: Node,
    tls_dir: PathBuf,
}

impl PostgresServer {
    /// The port it listens on, on 127.0.0.1 and for its socket.
    pub fn port(&self) -> u16 {
        self.private.port()
    }

    pub fn socket_directory(&self) -> &Path {
        &self.socket_directory
    }

    pub fn data_dir(&self) -> PathBuf {
        self.private.data_dir()
    }

    /// The authority that signed its certificate.
    pub fn ca_file(&self) -> PathBuf {
        tls::ca_file(&self.tls_dir)
    }

    /// `root`'s address of the database `db`.
    pub fn url(&self, db: &str) -> String {
        format!("postgres://root@127.0.0.1:{}/{db}", self.port())
    }

    pub fn log(&self) -> String {
        log_of(&self.private)
    }

    /// Runs statements as `root` in `sbtest` by psql; the rows of all of them, as text.
    pub fn sql(&self, text: &str) -> Vec<Vec<String>> {
        self.sql_as("root", text)
    }

    fn sql_as(&self, role: &str, text: &str) -> Vec<Vec<String>> {
        let mut psql = Command::new(&self.psql);
        psql.args(["-X", "-A", "-t", "-q", "-F", "\t", "-v", "ON_ERROR_STOP=1"]);
        psql.args(["-U", role, "-d", "sbtest", "-h"]);
        psql.arg(self.socket_directory());
        psql.args(["-p", &self.port().to_string()]);
        let rows = daemon::feed(psql, text);
        rows.lines()
            .map(|line| line.split('\t').map(str::to_owned).collect())
            .collect()
    }

    pub fn create_user(&self, name: &str, password: &str, encryption: &str) {
        let password = password.replace('\'', "''");
        self.sql(&format!(
            "SET password_encryption = '{encryption}'; CREATE ROLE {name} LOGIN PASSWORD '{password}'"
        ));
    }

    /// Kills all its processes as `kill -9` would. Its files stay until it is dropped.
    pub fn kill(&mut self) {
        self.private.kill();
    }

    /// Shuts it down without waiting for its clients.
    pub fn stop(&mut self) {
        let pid = self.private.pid().and_then(|pid| Pid::from_raw(pid as i32));
        kill_process(pid.unwrap(), Signal::INT).unwrap();
        let begun = Instant::now();
        while self.private.exited().is_none() {
            assert!(begun.elapsed() < STOP_LIMIT, "{}", self.log());
            std::thread::sleep(POLL_INTERVAL);
        }
    }

    /// Stops it unless it was killed or stopped, and starts it again on its data and port.
    pub fn restart(&mut self) {
        let restarted = self.private.restart(&NEVER);
        restarted.unwrap_or_else(|e| panic!("{e}"));
    }
}
