//! Nobody but dyno gets into a private server.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test file: its helpers may fail loudly too"
)]

mod private;

use std::fs;
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::mysql::{Connection, Target, TlsOptions};
use client::reactor::Reactor;
use engine::{MARIADB, Server};
use lab::servers::Node;

use private::{
    BOTH, NEVER, contents, empty_data, installed, kept_home, open_dir, sql, start, start_on, value,
};

/// The user and the group `nobody`.
const NOBODY: u32 = 65534;
/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(60);

/// The engine's own client.
fn client(engine: &'static dyn Server) -> PathBuf {
    match engine == MARIADB {
        true => PathBuf::from("/usr/bin/mariadb"),
        false => installed(engine).program.with_file_name("mysql"),
    }
}

/// Runs the client as another user of this host, who can run it but has no password.
fn as_nobody(engine: &'static dyn Server, user: &str, way: &[String]) -> Output {
    let mut command = Command::new(client(engine));
    command.arg("--no-defaults").args(way);
    if !user.is_empty() {
        command.arg(format!("--user={user}"));
    }
    command.args(["-e", "SELECT 'I am in'"]);
    command.current_dir("/").uid(NOBODY).gid(NOBODY);
    command.output().unwrap()
}

fn ways(server: &Node) -> [Vec<String>; 2] {
    let tcp = ["--protocol=tcp", "--host=127.0.0.1"].map(str::to_owned);
    let port = format!("--port={}", server.port());
    let socket = format!("--socket={}", server.socket().display());
    [[&tcp[..], &[port]].concat(), vec![socket]]
}

#[test]
fn other_users_of_this_host_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can be somebody else");
    }
    for engine in BOTH {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let server = start(&home, engine, &[], keep.path()).unwrap();
        for user in ["root", "", "nobody", "mysql", "mariadb.sys", "mysql.sys"] {
            for way in ways(&server) {
                let output = as_nobody(engine, user, &way);
                let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
                assert!(!output.status.success(), "{engine} {user:?} {way:?}");
                assert!(out.is_empty() && err.contains("ERROR"), "{err}");
            }
        }
        // The account is there, for who knows its password.
        assert_eq!(value(&server, "SELECT current_user()"), "root@127.0.0.1");
    }
}

/// Whether `root` is let in over TCP with this password.
fn is_let_in(port: u16, password: &str) -> bool {
    let url = format!("mysql://root@127.0.0.1:{port}/mysql");
    let tls = TlsOptions {
        server_public_key: client::mysql::ServerPublicKey::Accepted,
        ..TlsOptions::default()
    };
    let target = Target::parse(&url, Some(password), "root", &tls).unwrap();
    let reactor = Reactor::new().unwrap();
    let opened = reactor.block_on(Connection::open_within(PATIENCE, &target));
    opened.unwrap().is_ok()
}

/// From before the first start of a new data directory until it has stopped.
#[test]
fn there_is_no_moment_without_a_password() {
    for engine in BOTH {
        let dir = open_dir();
        let home = lab::home::Home::open_in(dir.path().join("cache").as_path(), u64::MAX).unwrap();
        let installed = installed(engine);
        let data = empty_data(&home, &installed);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        drop(listener);
        let is_over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let intruder = scope.spawn(|| {
                let mut tries = 0;
                while !is_over.load(Ordering::Relaxed) {
                    assert!(!is_let_in(port, ""), "{engine}");
                    tries += 1;
                }
                tries
            });
            let started = start_on(data, &installed, &[], Some(port), dir.path());
            let restarted = started.and_then(|mut server| {
                server.kill();
                server.restart(&NEVER)?;
                let is_in = is_let_in(server.port(), server.password());
                server.stop(&NEVER).map(|()| is_in)
            });
            is_over.store(true, Ordering::Relaxed);
            assert!(restarted.unwrap(), "{engine}");
            assert!(intruder.join().unwrap() > 0);
        });
    }
}

#[test]
fn each_server_has_a_password_of_its_own_that_is_nowhere_to_be_read() {
    for engine in BOTH {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let start = |name: &str| start(&home, engine, &[], &keep.path().join(name)).unwrap();
        let (one, two) = (start("1"), start("2"));
        assert_ne!(one.password(), two.password());
        assert!(is_let_in(one.port(), one.password()));
        assert!(!is_let_in(two.port(), one.password()), "{engine}");

        let password = one.password().as_bytes();
        let holds = |bytes: &[u8]| bytes.windows(password.len()).any(|part| part == password);
        let process = PathBuf::from(format!("/proc/{}", one.pid().unwrap()));
        for file in ["cmdline", "environ"] {
            assert!(!holds(&fs::read(process.join(file)).unwrap()), "{file}");
        }
        let data_dir = one.data_dir();
        let whole = data_dir.ancestors().nth(2).unwrap();
        for directory in [whole, keep.path()] {
            for (path, bytes) in files(directory) {
                assert!(!holds(&bytes), "{}", path.display());
            }
        }
        assert!(!whole.join("init.sql").exists());
    }
}

/// Every file below a directory that a running server has there: sockets are none.
fn files(directory: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap().flatten() {
        let path = entry.path();
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => found.extend(files(&path)),
            kind if kind.is_file() => {
                // The server may remove one meanwhile.
                let bytes = fs::read(&path).unwrap_or_default();
                found.push((path, bytes));
            }
            _ => {}
        }
    }
    found
}

#[test]
fn statements_neither_write_nor_read_files() {
    let dir = open_dir();
    fs::write(dir.path().join("in"), "1\n").unwrap();
    for engine in BOTH {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let server = start(&home, engine, &[], keep.path()).unwrap();
        let data_dir = server.data_dir();
        let whole = data_dir.ancestors().nth(2).unwrap();
        sql(&server, "CREATE TABLE t (a INT)").unwrap();
        let closed = whole.join("closed");
        let places = [dir.path(), whole, &closed, &data_dir, Path::new("/tmp")];
        for place in places {
            let file = place.join("out").display().to_string();
            for statement in [
                format!("SELECT 1 INTO OUTFILE '{file}'"),
                format!("SELECT 1 INTO DUMPFILE '{file}'"),
            ] {
                assert!(sql(&server, &statement).is_err(), "{engine} {statement}");
            }
            assert!(!Path::new(&file).exists(), "{engine} {file}");
        }
        let file = dir.path().join("in").display().to_string();
        let load = format!("LOAD DATA INFILE '{file}' INTO TABLE t");
        assert!(sql(&server, &load).is_err(), "{engine}");
        let read = sql(&server, &format!("SELECT LOAD_FILE('{file}')")).unwrap();
        assert_eq!(read, [[None]], "{engine}");
        assert!(contents(&closed).is_empty());
    }
}

#[test]
fn a_study_cannot_let_others_in() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    for setting in ["skip_grant_tables", "skip-grant-tables", "init_file"] {
        let refused = start(&home, MARIADB, &[(setting, "ON")], keep.path());
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(setting), "{message}");
    }
}
