//! Nobody but dyno gets into a private server.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use client::TlsOptions;
use client::mysql::{Connection, Target};
use client::reactor::Reactor;
use engine::{MARIADB, POSTGRES, Server};
use lab::servers::Node;

use crate::private::{
    self, ALL, BOTH, NEVER, contents, empty_data, installed, kept_home, new_home, open_dir, sql,
    start, start_on, value,
};

/// The user and the group `nobody`.
const NOBODY: u32 = 65534;
/// Long enough for a machine that is busy with other tests.
const PATIENCE: Duration = Duration::from_secs(300);
/// Between attempts to get in; no moment that matters is shorter.
const PAUSE: Duration = Duration::from_millis(2);

/// How to reach a server.
#[derive(Debug, Clone, Copy)]
enum Way {
    Tcp,
    Socket,
}

const WAYS: [Way; 2] = [Way::Tcp, Way::Socket];

/// The engine's own client, without a password.
fn client(server: &Node, engine: &'static dyn Server, user: &str, way: &Way) -> Command {
    let (port, socket) = (server.port(), server.socket());
    if engine == POSTGRES {
        let mut psql = Command::new("psql");
        psql.args(["-X", "-w", "-d", "sbtest", "-c", "SELECT 'I am in'"]);
        psql.args(["-p", &port.to_string(), "-U", user, "-h"]);
        return match way {
            Way::Tcp => {
                psql.arg("127.0.0.1");
                psql
            }
            Way::Socket => {
                psql.arg(socket.parent().unwrap());
                psql
            }
        };
    }
    let mut command = Command::new(match engine == MARIADB {
        true => PathBuf::from("/usr/bin/mariadb"),
        false => installed(engine).program.with_file_name("mysql"),
    });
    command.args(["--no-defaults", "-e", "SELECT 'I am in'"]);
    command.arg(format!("--user={user}"));
    match way {
        Way::Tcp => {
            command.args(["--protocol=tcp", "--host=127.0.0.1"]);
            command.arg(format!("--port={port}"))
        }
        Way::Socket => command.arg(format!("--socket={}", socket.display())),
    };
    command
}

#[test]
fn other_users_of_this_host_are_refused() {
    if !rustix::process::geteuid().is_root() {
        return testkit::skip("only root can be somebody else");
    }
    for engine in ALL {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let server = start(&home, engine, &[], keep.path()).unwrap();
        // A socket's directory is closed; who runs servers can enter it, and gets no further.
        let servers = fs::metadata(server.data_dir()).unwrap();
        let strangers = [(NOBODY, NOBODY), (servers.uid(), servers.gid())];
        let users = [
            "root",
            "",
            "nobody",
            "mysql",
            "mariadb.sys",
            "mysql.sys",
            "postgres",
            "dyno",
        ];
        for (uid, gid) in strangers {
            for (user, way) in users.iter().flat_map(|user| WAYS.map(|way| (user, way))) {
                let mut client = client(&server, engine, user, &way);
                client.env_clear().current_dir("/").uid(uid).gid(gid);
                let output = client.output().unwrap();
                let (out, err) = (&output.stdout, String::from_utf8_lossy(&output.stderr));
                assert!(!output.status.success(), "{engine} {uid} {user:?} {way:?}");
                let words = [
                    "ERROR",
                    "FATAL",
                    "Permission denied",
                    "no password supplied",
                ];
                let is_refused = words.iter().any(|words| err.contains(words));
                assert!(out.is_empty() && is_refused, "{err}");
            }
        }
        // The account is there, for who knows its password.
        let user = match engine == POSTGRES {
            true => "dyno",
            false => "root@127.0.0.1",
        };
        assert_eq!(value(&server, "SELECT current_user"), user);
    }
}

/// Whether an account is let in over TCP with this password.
fn is_let_in(engine: &'static dyn Server, user: &str, port: u16, password: &str) -> bool {
    if engine == POSTGRES {
        let url = format!("postgres://{user}@127.0.0.1:{port}/postgres");
        let opened = private::postgres(&url, password);
        return Reactor::new().unwrap().block_on(opened).unwrap().is_ok();
    }
    let url = format!("mysql://{user}@127.0.0.1:{port}/mysql");
    let tls = TlsOptions {
        server_public_key: client::mysql::ServerPublicKey::Accepted,
        ..TlsOptions::default()
    };
    let target = Target::parse(&url, Some(password), "root", &tls).unwrap();
    let reactor = Reactor::new().unwrap();
    let opened = reactor.block_on(Connection::open_within(PATIENCE, &target));
    opened.unwrap().is_ok()
}

/// The accounts that there are, first the one that can log in.
fn accounts(engine: &'static dyn Server) -> &'static [&'static str] {
    match engine == POSTGRES {
        true => &["dyno", "postgres"],
        false => &["root"],
    }
}

/// From before the first start of a new data directory until it has stopped.
#[test]
fn there_is_no_moment_without_a_password() {
    for engine in ALL {
        let (dir, home) = new_home();
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
                    for user in accounts(engine) {
                        assert!(!is_let_in(engine, user, port, ""), "{engine}");
                    }
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
                tries
            });
            let started = start_on(data, &installed, &[], Some(port), dir.path());
            let restarted = started.and_then(|mut server| {
                server.kill();
                server.restart(&NEVER)?;
                let user = accounts(engine)[0];
                let is_in = is_let_in(engine, user, server.port(), server.password());
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
    for engine in ALL {
        let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
        let start = |name: &str| start(&home, engine, &[], &keep.path().join(name)).unwrap();
        let (one, two) = (start("1"), start("2"));
        assert_ne!(one.password(), two.password());
        let is_in = |server: &Node| {
            let user = accounts(engine)[0];
            is_let_in(engine, user, server.port(), one.password())
        };
        assert!(is_in(&one) && !is_in(&two), "{engine}");

        let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(one.password());
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
fn loads_of_postgresql_neither_write_nor_read_files() {
    let dir = open_dir();
    fs::write(dir.path().join("in"), "1\n").unwrap();
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    let server = start(&home, POSTGRES, &[], keep.path()).unwrap();
    sql(&server, "CREATE TABLE t (a INT)").unwrap();
    let (file, out) = (dir.path().join("in"), server.data_dir().join("out"));
    let (file, out) = (file.display(), out.display());
    for statement in [
        format!("COPY t FROM '{file}'"),
        format!("COPY t TO '{out}'"),
        format!("COPY t FROM PROGRAM 'cat {file}'"),
        format!("COPY t TO PROGRAM 'cat > {out}'"),
        format!("SELECT pg_read_file('{file}')"),
        format!("SELECT lo_export(lo_from_bytea(0, 'x'), '{out}')"),
        "ALTER SYSTEM SET archive_command = 'false'".to_owned(),
        "ALTER ROLE dyno SUPERUSER".to_owned(),
    ] {
        let refused = sql(&server, &statement).unwrap_err();
        let is_denied = ["permission denied", "must be superuser"];
        assert!(
            is_denied.iter().any(|words| refused.contains(words)),
            "{refused}"
        );
    }
    assert!(!server.data_dir().join("out").exists());
}

#[test]
fn a_study_cannot_let_others_in() {
    let (home, keep) = (kept_home(), tempfile::tempdir().unwrap());
    for (engine, setting) in [
        (MARIADB, "skip_grant_tables"),
        (MARIADB, "skip-grant-tables"),
        (MARIADB, "init_file"),
        (POSTGRES, "hba_file"),
        (POSTGRES, "Listen_Addresses"),
        (POSTGRES, "include_dir"),
        (POSTGRES, "archive_command"),
    ] {
        let refused = start(&home, engine, &[(setting, "ON")], keep.path());
        let message = refused.unwrap_err().to_string();
        assert!(message.contains(setting), "{message}");
    }
}
