//! Every way to log in, and every way to be refused.

use crate::common::{
    accepting, account, assert_has, assert_told, at, by_socket, closed, log_in, open, root, run,
    trusting, why_withheld,
};
use client::mysql::{Connection, Error, ServerPublicKey, Target, TlsMode, TlsOptions, Withheld};
use rsa::pkcs8::{EncodePublicKey, LineEnding};
use testkit::{MariaDb, MySql, Server};

const SHA2: &str = "caching_sha2_password";

/// An answer `user@%`, in clear.
#[track_caller]
fn assert_in_clear(target: &Target, user: &str) {
    let (name, tls) = log_in(target).unwrap();
    assert_eq!((name, tls), (format!("{user}@%"), None));
}

/// An answer `user@%`, under TLS.
#[track_caller]
fn assert_under_tls(target: &Target, user: &str) {
    let (name, tls) = log_in(target).unwrap();
    assert_eq!(name, format!("{user}@%"));
    assert_has(&tls.unwrap(), &["TLSv1-3 TLS13-AES"]);
}

#[test]
fn mariadb_by_native_password_and_by_ed25519() {
    let server = MariaDb::builder().tls(true).start();
    for plugin in ["mysql_native_password", "ed25519"] {
        for (user, password) in [
            ("plain", "secret"),
            ("odd", "it's ü: @/?#%"),
            ("long", &"x".repeat(200)),
        ] {
            let user = format!("{user}_{plugin}");
            server.create_user(&user, password, plugin, false);
            assert_in_clear(&account(&server, &user, password, &open()), &user);
            assert_under_tls(&account(&server, &user, password, &closed()), &user);
        }
    }
    server.create_user("empty", "", "mysql_native_password", false);
    assert_in_clear(&account(&server, "empty", "", &open()), "empty");
    refusals(&server);
}

/// The server's nonce is random, and one in 256 ends with a zero.
#[test]
fn mariadb_by_ed25519_whatever_its_nonce() {
    let server = MariaDb::start(&[]);
    server.create_user("e", "secret", "ed25519", false);
    let target = account(&server, "e", "secret", &open());
    run(async {
        for _ in 0..1000 {
            Connection::open(&target).await.unwrap().close().await;
        }
    });
}

#[test]
fn mysql_by_caching_sha2() {
    let server = MySql::builder().tls(true).start();
    let verified = verified(&server);
    for (user, password) in [
        ("plain", "secret"),
        ("odd", "it's ü: @/?#%"),
        ("long", &"x".repeat(200)),
    ] {
        server.create_user(user, password, SHA2, false);
        let target = |tls: &TlsOptions| account(&server, user, password, tls);
        // What nobody allowed is not sent: the server does not know the password yet.
        assert_eq!(withheld(&target(&open())), Withheld::NoKey);
        assert_eq!(withheld(&target(&closed())), Withheld::Unverified);
        // The password itself, under the server's key; then only a proof.
        assert_in_clear(&target(&accepting()), user);
        assert_in_clear(&target(&open()), user);
        assert_under_tls(&target(&closed()), user);
        server.sql("FLUSH PRIVILEGES");
        assert_eq!(withheld(&target(&open())), Withheld::NoKey);
        assert_in_clear(&target(&with_key(&server)), user);
        // And under TLS.
        server.sql("FLUSH PRIVILEGES");
        assert_under_tls(&at("localhost", &server, user, password, &verified), user);
        assert_under_tls(&target(&closed()), user);
        server.sql("FLUSH PRIVILEGES");
        let mut accepting_tls = closed();
        accepting_tls.server_public_key = ServerPublicKey::Accepted;
        assert_under_tls(&target(&accepting_tls), user);
        server.sql("FLUSH PRIVILEGES");
        let socket = by_socket(&server, user, password, &open());
        assert_eq!(log_in(&socket).unwrap(), (format!("{user}@%"), None));
    }
    server.create_user("empty", "", SHA2, false);
    assert_in_clear(&account(&server, "empty", "", &open()), "empty");
    assert_under_tls(&account(&server, "empty", "", &closed()), "empty");
    refusals(&server);
}

/// The server cannot read what is encrypted with another key than its own.
#[test]
fn mysql_with_another_servers_key() {
    let server = MySql::start(&[]);
    server.create_user("u", "secret", SHA2, false);
    let other = rsa::RsaPrivateKey::new(&mut rsa::rand_core::OsRng, 1024).unwrap();
    let pem = other.to_public_key().to_public_key_pem(LineEnding::LF);
    let mut with_other = open();
    with_other.server_public_key = ServerPublicKey::Known(pem.unwrap().into_bytes());
    let error = log_in(&account(&server, "u", "secret", &with_other)).unwrap_err();
    assert_eq!(error.number(), Some(1045), "{error}");
}

#[test]
fn a_file_without_a_key_is_refused() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "no key").unwrap();
    for path in [file.path(), "/no/such/key.pem".as_ref()] {
        let why = ServerPublicKey::read(path).unwrap_err();
        assert_has(&why, &[&path.display().to_string()]);
    }
}

/// Without a key the server cannot take a password in clear, so a login in clear
/// that succeeds went the fast way.
#[test]
fn mysql_takes_the_hash_of_a_password_that_it_knows() {
    let server = MySql::builder()
        .options(&[
            "--caching-sha2-password-auto-generate-rsa-keys=OFF",
            "--caching-sha2-password-private-key-path=none.pem",
            "--caching-sha2-password-public-key-path=none.pem",
        ])
        .tls(true)
        .start();
    server.create_user("u", "secret", SHA2, false);
    let (in_clear, under_tls) = (
        account(&server, "u", "secret", &accepting()),
        at("localhost", &server, "u", "secret", &verified(&server)),
    );
    let without_key = log_in(&in_clear).unwrap_err();
    assert_eq!(without_key.number(), Some(1045), "{without_key}");
    assert_under_tls(&under_tls, "u");
    assert_in_clear(&in_clear, "u");
    server.sql("FLUSH PRIVILEGES");
    assert!(log_in(&in_clear).is_err());
}

/// MySQL has it for old accounts, and asks for it where there is no account.
#[test]
fn mysql_by_sha256() {
    let server = MySql::builder().tls(true).start();
    server.create_user("u", "secret", "sha256_password", false);
    let verified = verified(&server);
    let target = |tls: &TlsOptions| account(&server, "u", "secret", tls);
    assert_eq!(withheld(&target(&open())), Withheld::NoKey);
    assert_eq!(withheld(&target(&closed())), Withheld::Unverified);
    assert_in_clear(&target(&accepting()), "u");
    assert_in_clear(&target(&with_key(&server)), "u");
    assert_under_tls(&at("localhost", &server, "u", "secret", &verified), "u");
    let socket = by_socket(&server, "u", "secret", &open());
    assert_eq!(log_in(&socket).unwrap(), ("u@%".to_owned(), None));
    for number in 0..20 {
        let user = format!("nobody{number}");
        for target in [
            account(&server, &user, "x", &accepting()),
            at("localhost", &server, &user, "x", &verified),
            by_socket(&server, &user, "x", &open()),
        ] {
            let error = log_in(&target).unwrap_err();
            assert_eq!(error.number(), Some(1045), "{error}");
        }
    }
}

#[test]
fn by_unix_socket() {
    let (mariadb, mysql) = (MariaDb::start(&[]), MySql::start(&[]));
    for server in [&mariadb, &mysql] {
        let default = by_socket(server, "root", "", &TlsOptions::default());
        let root = ("root@localhost".to_owned(), None);
        assert_eq!(log_in(&default).unwrap(), root);
    }
    let (_, tls) = log_in(&by_socket(&mysql, "root", "", &closed())).unwrap();
    assert!(tls.is_some(), "TLS if it is asked for");

    let missing = "mysql://root@localhost/sbtest?socket=/no/such.sock";
    let missing = Target::parse(missing, None, "x", &open()).unwrap();
    let error = log_in(&missing).unwrap_err();
    let text = ["/no/such.sock", "No such file"];
    assert_told(&error, &text, &["no such socket"]);
}

#[test]
fn nothing_listens_there() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let target = Target::parse(&format!("mysql://127.0.0.1:{port}/x"), None, "u", &open()).unwrap();
    let text = [&format!("127.0.0.1:{port}"), "refused"];
    let error = log_in(&target).unwrap_err();
    assert_told(&error, &text, &["nothing listens there"]);
}

#[test]
fn a_full_server_says_so() {
    let server = MariaDb::start(&["--max-connections=10"]);
    server.create_user("u", "p", "mysql_native_password", false);
    server.sql("REVOKE ALL PRIVILEGES ON *.* FROM u; GRANT SELECT ON *.* TO u");
    let target = account(&server, "u", "p", &open());
    let refused = run(async {
        let mut held = Vec::new();
        loop {
            match Connection::open(&target).await {
                Ok(connection) => held.push(connection),
                Err(error) => return error,
            }
            assert!(held.len() <= 11, "the limit holds");
        }
    });
    assert_eq!(refused.number(), Some(1040));
    assert_told(&refused, &["Too many connections"], &["max_connections"]);
}

/// Under TLS, and the server is the one that the certificate is for.
fn verified(server: &Server) -> TlsOptions {
    trusting(server.ca_file(), TlsMode::VerifyFull)
}

/// In clear, with the server's RSA key from its file.
fn with_key(server: &Server) -> TlsOptions {
    let file = server.data_dir().join("public_key.pem");
    TlsOptions {
        server_public_key: ServerPublicKey::read(&file).unwrap(),
        ..open()
    }
}

/// Why the server does not get the password.
#[track_caller]
fn withheld(target: &Target) -> Withheld {
    let error = log_in(target).unwrap_err();
    assert_told(&error, &[], &["--tls-ca"]);
    why_withheld(&error)
}

/// What every server refuses, and what it is told to do about it.
fn refusals(server: &Server) {
    let refusal = |user: &str, password: &str, database: &str| -> Error {
        let mut target = account(server, user, password, &accepting());
        target.database = database.to_owned();
        log_in(&target).unwrap_err()
    };
    for (user, password) in [
        ("plain_mysql_native_password", "wrong"),
        ("plain", "wrong"),
        ("nobody", "x"),
        ("nobody", ""),
        ("empty", "x"),
    ] {
        let error = refusal(user, password, "sbtest");
        assert_eq!(error.number(), Some(1045), "{user}: {error}");
        let text = ["refused the connection", "Access denied", user];
        assert_told(&error, &text, &["user and password"]);
    }
    let error = refusal("empty", "", "no_such_db");
    assert_eq!(error.number(), Some(1049));
    assert_told(&error, &["no_such_db"], &["CREATE DATABASE"]);
    // The connection that was refused does not spoil the next.
    assert!(log_in(&root(server)).is_ok());
}
