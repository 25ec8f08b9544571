//! Every authentication method, with and without TLS.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use client::TlsMode;
use client::postgres::{Connection, Error, Target, Withheld};
use client::tls::TlsFailure;
use testkit::{Postgres, PostgresServer};

use super::{by_socket, target};
use crate::common::certificates::{authority, key_of, of_client};
use crate::common::{
    ALL_MODES, assert_has, assert_told, one_value, run, tls, trusting, why_no_tls, why_withheld,
};

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

fn url(server: &PostgresServer, user: &str) -> String {
    format!("postgres://{user}@localhost:{}/sbtest", server.port())
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
        let mut options = trusting(server.ca_file(), mode);
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
                assert_eq!(why_withheld(&error), Withheld::PasswordMethod, "{mode:?}");
                assert_told(&error, &["localhost"], &["scram-sha-256"]);
                let remedy = error.remedy().unwrap();
                assert!(!remedy.contains("plugin"), "{remedy}");
            }
        }
        options.cleartext_plugin = true;
        let clear = target(&url(server, "clear"), Some(PASSWORD), &options);
        assert_eq!(log_in(&clear).unwrap().1, has_tls);
    }
    for user in ["scram", "md5", "clear"] {
        // Also with a mode that no Unix socket could offer, as libpq has it.
        let (socket, required) = (by_socket(server, user), tls(TlsMode::Required));
        let local = target(&socket, Some(PASSWORD), &required);
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
                assert!(!is_bound, "{user} {mode:?}: {error}");
                assert_eq!(why_withheld(&error), Withheld::NotBound);
                assert_told(&error, &["channel_binding"], &[]);
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
        assert_told(&error, &[user], &[]);
    }
    let other = url(server, "root").replace("sbtest", "no_such_database");
    let (error, sqlstate) = refusal(&other, None);
    assert_eq!(sqlstate, "3D000");
    assert_told(&error, &["no_such_database"], &["CREATE DATABASE"]);
    let (error, sqlstate) = refusal(&url(server, "nowhere"), None);
    assert_eq!(sqlstate, "28000");
    let text = format!("{error} {:?}", error.remedy());
    assert_has(&text, &["pg_hba.conf"]);
    let (error, _) = refusal(&url(server, "scram"), None);
    assert!(matches!(error, Error::NoPassword { .. }), "{error}");
    assert_told(&error, &[], &["PGPASSWORD", ".pgpass"]);
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
    assert_told(&error, &["chmod 0600", "pgpass"], &[]);
    fs::set_permissions(&file, Permissions::from_mode(0o600)).unwrap();
    assert_eq!(log_in().unwrap().0, "scram");
}

fn certificates_of_clients(server: &PostgresServer) {
    let dir = tempfile::tempdir().unwrap();
    let certificate = of_client(dir.path(), &server.ca_file(), "certified");
    let mut with = tls(TlsMode::Required);
    (with.key, with.certificate) = (Some(key_of(&certificate)), Some(certificate));
    let certified = |options| target(&url(server, "certified"), None, options);
    assert!(log_in(&certified(&with)).unwrap().1);
    let error = log_in(&certified(&tls(TlsMode::Required))).unwrap_err();
    assert_eq!(error.sqlstate(), Some("28000"), "{error}");
}

fn certificates_of_the_server(server: &PostgresServer) {
    let by_address = format!("postgres://trusted@127.0.0.1:{}/sbtest", server.port());
    let with = |mode| {
        log_in(&target(
            &by_address,
            None,
            &trusting(server.ca_file(), mode),
        ))
    };
    let error = with(TlsMode::VerifyFull).unwrap_err();
    let is_other = matches!(why_no_tls(&error), TlsFailure::OtherName(_));
    assert!(is_other, "{error}");
    with(TlsMode::VerifyCa).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let other = trusting(authority(dir.path(), "other"), TlsMode::VerifyCa);
    let error = log_in(&target(&by_address, None, &other)).unwrap_err();
    let is_untrusted = matches!(why_no_tls(&error), TlsFailure::NotTrusted(_));
    assert!(is_untrusted, "{error}");
}
