//! Every authentication method, with and without TLS.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use client::postgres::{Connection, Error, Target, Withheld};
use client::tls::{TlsFailure, TlsMode, TlsOptions};
use testkit::{Postgres, PostgresServer, openssl};

use super::{assert_told, one_value, run, target, tls};

const ACCESS: &str = "\
host all scram all scram-sha-256
host all md5 all md5
host all clear all password
hostssl all certified all cert
host all prepared,raw all scram-sha-256
host all trusted all trust
host no_such_database root all trust
local all scram scram-sha-256
local all md5 md5
local all clear password
";
const PASSWORD: &str = "p4ss: 'wörd'";
/// SASLprep turns the Roman numeral into letters and drops the soft hyphen.
const PREPARED: &str = "\u{2168}\u{ad}x";
/// SASLprep does not allow control characters.
const RAW: &str = "a\u{7}b";
const ALL_MODES: [TlsMode; 5] = [
    TlsMode::Disable,
    TlsMode::Preferred,
    TlsMode::Required,
    TlsMode::VerifyCa,
    TlsMode::VerifyFull,
];

fn server() -> PostgresServer {
    let server = Postgres::builder().access(ACCESS).tls(true).start();
    server.create_user("scram", PASSWORD, "scram-sha-256");
    server.create_user("clear", PASSWORD, "scram-sha-256");
    server.create_user("md5", PASSWORD, "md5");
    server.create_user("prepared", PREPARED, "scram-sha-256");
    server.create_user("raw", RAW, "scram-sha-256");
    for name in ["certified", "trusted", "nowhere"] {
        server.sql(&format!("CREATE ROLE {name} LOGIN"));
    }
    server
}

/// Logs in, and says as whom and whether under TLS.
fn log_in(target: &Target) -> Result<(String, bool), Error> {
    run(async {
        let mut connection = Connection::open(target).await?;
        let is_encrypted = connection.tls_description().is_some();
        let user = one_value(&mut connection, "SELECT current_user").await;
        connection.close().await;
        Ok((user, is_encrypted))
    })
}

/// TLS of this mode, trusting the server's authority.
fn trusting(server: &PostgresServer, mode: TlsMode) -> TlsOptions {
    let verifies = matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
    TlsOptions {
        ca: verifies.then(|| server.ca_file()),
        ..tls(mode)
    }
}

fn url(server: &PostgresServer, user: &str) -> String {
    format!("postgres://{user}@localhost:{}/sbtest", server.port())
}

fn by_socket(server: &PostgresServer, user: &str) -> String {
    let directory = server.socket_directory().display();
    format!(
        "postgres://{user}@/sbtest?host={directory}&port={}",
        server.port()
    )
}

#[test]
fn logins() {
    let server = server();
    every_method_in_every_mode(&server);
    channel_binding(&server);
    passwords_that_saslprep_changes(&server);
    wrong_logins(&server);
    passwords_from_a_file(&server);
    certificates_of_clients(&server);
    certificates_of_the_server(&server);
}

fn every_method_in_every_mode(server: &PostgresServer) {
    for mode in ALL_MODES {
        let options = trusting(server, mode);
        let has_tls = mode != TlsMode::Disable;
        for user in ["scram", "md5", "trusted"] {
            let target = target(&url(server, user), Some(PASSWORD), &options);
            let logged_in = log_in(&target).unwrap_or_else(|e| panic!("{user} {mode:?}: {e}"));
            assert_eq!(logged_in, (user.to_owned(), has_tls), "{mode:?}");
        }
        let clear = target(&url(server, "clear"), Some(PASSWORD), &options);
        match mode {
            TlsMode::VerifyCa | TlsMode::VerifyFull => assert!(log_in(&clear).unwrap().1),
            _ => {
                let error = log_in(&clear).unwrap_err();
                let why = matches!(
                    error,
                    Error::Withheld {
                        why: Withheld::PasswordMethod,
                        ..
                    }
                );
                assert!(why, "{mode:?}: {error}");
                assert_told(&error, &["scram-sha-256", "localhost"]);
                let remedy = error.remedy().unwrap();
                assert!(!remedy.contains("plugin"), "{remedy}");
            }
        }
        let allowed = TlsOptions {
            cleartext_plugin: true,
            ..options
        };
        let clear = target(&url(server, "clear"), Some(PASSWORD), &allowed);
        assert_eq!(log_in(&clear).unwrap().1, has_tls);
    }
    for user in ["scram", "md5", "clear"] {
        // Also with a mode that no Unix socket could offer, as libpq has it.
        let local = target(
            &by_socket(server, user),
            Some(PASSWORD),
            &tls(TlsMode::Required),
        );
        assert_eq!(log_in(&local).unwrap(), (user.to_owned(), false));
    }
}

/// Only SCRAM under TLS can be bound to the connection.
fn channel_binding(server: &PostgresServer) {
    for (user, mode, is_bound) in [
        ("scram", TlsMode::Required, true),
        ("scram", TlsMode::Disable, false),
        ("md5", TlsMode::Required, false),
        ("clear", TlsMode::Required, false),
        ("trusted", TlsMode::Required, false),
    ] {
        let url = |policy| format!("{}?channel_binding={policy}", url(server, user));
        let required = target(&url("require"), Some(PASSWORD), &tls(mode));
        match log_in(&required) {
            Ok(_) => assert!(is_bound, "{user}"),
            Err(error) => {
                let why = matches!(
                    error,
                    Error::Withheld {
                        why: Withheld::NotBound,
                        ..
                    }
                );
                assert!(why && !is_bound, "{user} {mode:?}: {error}");
                assert_told(&error, &["channel_binding"]);
            }
        }
        if user == "scram" {
            log_in(&target(&url("disable"), Some(PASSWORD), &tls(mode))).unwrap();
        }
    }
}

fn passwords_that_saslprep_changes(server: &PostgresServer) {
    for (user, password) in [("prepared", PREPARED), ("prepared", "IXx"), ("raw", RAW)] {
        let target = target(&url(server, user), Some(password), &tls(TlsMode::Preferred));
        assert_eq!(log_in(&target).unwrap().0, user);
    }
}

fn wrong_logins(server: &PostgresServer) {
    let refusal = |url: &str, password| {
        let error = log_in(&target(url, password, &tls(TlsMode::Preferred))).unwrap_err();
        let sqlstate = error.sqlstate().map(str::to_owned);
        (error, sqlstate.unwrap_or_default())
    };
    for user in ["scram", "md5", "no_such_user"] {
        let (error, sqlstate) = refusal(&url(server, user), Some("wrong"));
        // pg_hba.conf has no line for a user that does not exist.
        let wanted = if user == "no_such_user" {
            "28000"
        } else {
            "28P01"
        };
        assert_eq!(sqlstate, wanted, "{error}");
        assert_told(&error, &[user]);
    }
    let other = format!(
        "postgres://root@localhost:{}/no_such_database",
        server.port()
    );
    let (error, sqlstate) = refusal(&other, None);
    assert_eq!(sqlstate, "3D000");
    assert_told(&error, &["no_such_database", "CREATE DATABASE"]);
    let (error, sqlstate) = refusal(&url(server, "nowhere"), None);
    assert_eq!(sqlstate, "28000");
    assert_told(&error, &["pg_hba.conf"]);
    let (error, _) = refusal(&url(server, "scram"), None);
    assert!(matches!(error, Error::NoPassword { .. }), "{error}");
    assert_told(&error, &["PGPASSWORD", ".pgpass"]);
}

fn passwords_from_a_file(server: &PostgresServer) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("pgpass");
    let escaped = PASSWORD.replace(':', r"\:");
    let line = format!("localhost:{}:*:scram:{escaped}\n", server.port());
    fs::write(&file, line).unwrap();
    let url = format!("{}?passfile={}", url(server, "scram"), file.display());
    let log_in = || log_in(&target(&url, None, &tls(TlsMode::Preferred)));
    fs::set_permissions(&file, Permissions::from_mode(0o644)).unwrap();
    let error = log_in().unwrap_err();
    assert!(matches!(error, Error::NoPassword { .. }), "{error}");
    assert_told(&error, &["chmod 0600", "pgpass"]);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(log_in().unwrap().0, "scram");
}

fn certificates_of_clients(server: &PostgresServer) {
    let dir = tempfile::tempdir().unwrap();
    let (certificate, key) = signed(dir.path(), &server.ca_file(), "certified");
    let with = TlsOptions {
        certificate: Some(certificate),
        key: Some(key),
        ..tls(TlsMode::Required)
    };
    let certified = |options| target(&url(server, "certified"), None, options);
    assert!(log_in(&certified(&with)).unwrap().1);
    let error = log_in(&certified(&tls(TlsMode::Required))).unwrap_err();
    assert_eq!(error.sqlstate(), Some("28000"), "{error}");
}

fn certificates_of_the_server(server: &PostgresServer) {
    let by_address = format!("postgres://trusted@127.0.0.1:{}/sbtest", server.port());
    let full = trusting(server, TlsMode::VerifyFull);
    let error = log_in(&target(&by_address, None, &full)).unwrap_err();
    let why = matches!(
        error,
        Error::Tls {
            why: TlsFailure::OtherName(_),
            ..
        }
    );
    assert!(why, "{error}");
    log_in(&target(
        &by_address,
        None,
        &trusting(server, TlsMode::VerifyCa),
    ))
    .unwrap();
    let dir = tempfile::tempdir().unwrap();
    openssl(
        dir.path(),
        &format!("req -x509 {KEY} -days 10 -subj /CN=other -keyout k.pem -out c.pem"),
    );
    let other = TlsOptions {
        ca: Some(dir.path().join("c.pem")),
        ..tls(TlsMode::VerifyCa)
    };
    let error = log_in(&target(&by_address, None, &other)).unwrap_err();
    let why = matches!(
        error,
        Error::Tls {
            why: TlsFailure::NotTrusted(_),
            ..
        }
    );
    assert!(why, "{error}");
}

const KEY: &str = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";

/// A certificate for a client and its key.
fn signed(dir: &Path, authority: &Path, name: &str) -> (PathBuf, PathBuf) {
    openssl(
        dir,
        &format!("req -new {KEY} -subj /CN={name} -keyout key.pem -out csr.pem"),
    );
    let authority_key = authority.with_file_name("ca-key.pem");
    fs::write(dir.join("extensions"), "extendedKeyUsage=clientAuth\n").unwrap();
    openssl(
        dir,
        &format!(
            "x509 -req -in csr.pem -CA {} -CAkey {} -set_serial 7 -days 10 -extfile extensions -out cert.pem",
            authority.display(),
            authority_key.display()
        ),
    );
    (dir.join("cert.pem"), dir.join("key.pem"))
}
