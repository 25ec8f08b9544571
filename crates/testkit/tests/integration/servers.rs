//! Each server starts, answers, restarts, and leaves nothing.

use std::net::TcpStream;
use std::path::Path;
use std::process::Command;

use testkit::{Engine, MariaDb, MySql, Server};

/// A server shared by several tests is started in the thread of the first one, and must not end with it.
#[test]
fn a_server_outlives_the_thread_that_started_it() {
    let server = std::thread::spawn(|| MariaDb::start(&[])).join().unwrap();
    assert_eq!(server.sql("SELECT 1"), [["1"]]);
}

fn answers(mut server: Server) {
    TcpStream::connect(("127.0.0.1", server.port())).expect("it listens on its port");
    assert!(server.url("sbtest").starts_with("mysql://root@127.0.0.1:"));
    let rows = server.sql("CREATE TABLE t (a INT, b VARCHAR(9)); INSERT INTO t VALUES (1, 'x\\ty'), (2, NULL); SELECT * FROM t");
    assert_eq!(rows, [["1", "x\ty"], ["2", "NULL"]]);
    assert_eq!(server.sql("SELECT @@max_connections"), [["77"]]);

    server.restart();
    assert_eq!(server.sql("SELECT count(*) FROM t"), [["2"]]);

    let pid = server.pid().expect("it runs");
    let data = server.data_dir();
    drop(server);
    assert!(!Path::new(&format!("/proc/{pid}")).exists());
    assert!(!data.exists());
}

/// Logs in over TCP as `name` with the engine's client and says whether the connection was encrypted.
fn is_encrypted(
    server: &Server,
    name: &str,
    password: &str,
    options: &[&str],
) -> Result<bool, String> {
    let client = match server.engine() {
        Engine::MariaDb => "mariadb".to_owned(),
        Engine::MySql => {
            let exe = std::fs::read_to_string(format!("/proc/{}/cmdline", server.pid().unwrap()))
                .unwrap();
            let (prefix, _) = exe
                .split_once("/usr/lib/")
                .expect("the loader's path comes first");
            format!("{prefix}/bin/mysql")
        }
    };
    let output = Command::new(client)
        .args([
            "--no-defaults",
            "--protocol=tcp",
            "--host=localhost",
            "-NBe",
            "SHOW STATUS LIKE 'Ssl_cipher'",
        ])
        .args([
            format!("--port={}", server.port()),
            format!("--user={name}"),
            format!("--password={password}"),
        ])
        .args(options)
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.split_whitespace().count() == 2)
}

#[test]
fn mariadb_answers() {
    answers(MariaDb::start(&["--max-connections=77"]));
}

#[test]
fn mysql_answers() {
    answers(MySql::start(&["--max-connections=77"]));
}

#[test]
fn mariadb_with_tls_and_accounts() {
    let server = MariaDb::builder().tls(true).start();
    server.create_user("plain", "it's", "mysql_native_password", false);
    server.create_user("secret", "p", "ed25519", true);
    let ca = format!("--ssl-ca={}", server.ca_file().display());
    assert_eq!(
        is_encrypted(&server, "plain", "it's", &["--skip-ssl"]),
        Ok(false)
    );
    assert_eq!(
        is_encrypted(&server, "secret", "p", &[&ca, "--ssl-verify-server-cert"]),
        Ok(true)
    );
    let other_name = [ca.as_str(), "--ssl-verify-server-cert", "--host=127.0.0.1"];
    assert!(is_encrypted(&server, "secret", "p", &other_name).is_err());
    assert!(is_encrypted(&server, "secret", "p", &["--skip-ssl"]).is_err());
}

#[test]
fn mysql_with_tls_and_accounts() {
    for own_certificate in [true, false] {
        let server = MySql::builder().tls(own_certificate).start();
        server.create_user("plain", "it's", "caching_sha2_password", false);
        server.create_user("secret", "p", "caching_sha2_password", true);
        let ca = format!("--ssl-ca={}", server.ca_file().display());
        let mode = if own_certificate {
            "VERIFY_IDENTITY"
        } else {
            "VERIFY_CA"
        };
        assert_eq!(
            is_encrypted(
                &server,
                "secret",
                "p",
                &[&ca, &format!("--ssl-mode={mode}")]
            ),
            Ok(true)
        );
        assert!(is_encrypted(&server, "secret", "p", &["--ssl-mode=DISABLED"]).is_err());
        let plain = ["--ssl-mode=DISABLED", "--get-server-public-key"];
        assert_eq!(is_encrypted(&server, "plain", "it's", &plain), Ok(false));
    }
}

#[test]
#[should_panic(expected = "unknown")]
fn a_server_that_does_not_start_shows_its_log() {
    MariaDb::start(&["--no-such-option=1"]);
}
