//! Five modes of TLS against servers that have it, lack it, or show a wrong certificate.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use tempfile::TempDir;

use crate::common::certificates::{authority, key_of, of_client, signed};
use crate::common::{ALL_MODES, account, assert_has, at, closed, log_in, open, run, tls, trusting};
use client::mysql::{Connection, ServerPublicKey, Target, TlsMode, TlsOptions};
use testkit::{MariaDb, MySql, Server};

/// `root` by a name for the host.
fn root_at(server: &Server, host: &str, tls: &TlsOptions) -> Target {
    at(host, server, "root", "", tls)
}

/// Whether each mode gets a connection, and whether that is under TLS.
fn outcomes(server: &Server, host: &str, ca: &Path) -> [Result<bool, String>; 5] {
    ALL_MODES.map(|mode| {
        log_in(&root_at(server, host, &trusting(ca.to_owned(), mode)))
            .map(|(_, tls)| tls.is_some())
            .map_err(|error| format!("{error}\n{}", error.remedy().unwrap()))
    })
}

fn a_server_with_a_certificate(server: &Server) {
    let right = outcomes(server, "localhost", &server.ca_file());
    assert_eq!(right, [Ok(false), Ok(true), Ok(true), Ok(true), Ok(true)]);

    // The certificate is for localhost.
    let [_, preferred, required, chain, full] = outcomes(server, "127.0.0.1", &server.ca_file());
    assert_eq!([preferred, required, chain], [Ok(true), Ok(true), Ok(true)]);
    let other_name = ["127.0.0.1", "not valid for name", "verify-ca"];
    assert_has(&full.unwrap_err(), &other_name);

    let other = directory();
    let other = authority(other.path(), "other");
    let [_, preferred, required, chain, full] = outcomes(server, "localhost", &other);
    assert_eq!([preferred, required], [Ok(true), Ok(true)]);
    for refused in [chain, full] {
        assert_has(&refused.unwrap_err(), &["UnknownIssuer", "--tls-ca"]);
    }

    // The system's authorities did not sign it.
    let none = root_at(server, "localhost", &tls(TlsMode::VerifyCa));
    assert!(log_in(&none).is_err());
}

#[test]
fn servers_with_a_certificate() {
    both_with_tls().iter().for_each(a_server_with_a_certificate);
}

fn both_with_tls() -> [Server; 2] {
    [MariaDb::builder(), MySql::builder()].map(|server| server.tls(true).start())
}

/// An authority or a certificate that has no effect would leave its user with less than
/// they rely on.
#[test]
fn options_without_effect_are_refused() {
    let refused = |options: &TlsOptions| {
        let error = Target::parse("mysql://u@127.0.0.1/x", None, "u", options).unwrap_err();
        assert_has(&error.to_string(), &["would not be used"]);
    };
    for mode in &ALL_MODES[..3] {
        let mut options = tls(*mode);
        options.ca = Some("ca.pem".into());
        refused(&options);
    }
    refused(&TlsOptions {
        certificate: Some("cert.pem".into()),
        key: Some("key.pem".into()),
        ..open()
    });
}

/// An authority alone asks for everything to be checked.
#[test]
fn an_authority_means_verify_full() {
    let server = MariaDb::builder().tls(true).start();
    let only_ca = TlsOptions {
        ca: Some(server.ca_file()),
        ..TlsOptions::default()
    };
    let (_, tls) = log_in(&root_at(&server, "localhost", &only_ca)).unwrap();
    assert!(tls.is_some());
    let error = log_in(&root_at(&server, "127.0.0.1", &only_ca)).unwrap_err();
    assert_has(&error.to_string(), &["not valid for name"]);
}

/// MySQL makes itself a certificate, which names no host.
#[test]
fn mysql_with_its_own_certificate() {
    let server = MySql::start(&[]);
    let [disable, preferred, required, chain, full] =
        outcomes(&server, "localhost", &server.ca_file());
    let others = [disable, preferred, required, chain];
    assert_eq!(others, [Ok(false), Ok(true), Ok(true), Ok(true)]);
    assert_has(&full.unwrap_err(), &["not valid for name"]);
}

#[test]
fn a_server_without_tls() {
    let server = MariaDb::start(&[]);
    let dir = directory();
    let ca = authority(dir.path(), "ca");
    let [disable, preferred, required, chain, full] = outcomes(&server, "localhost", &ca);
    assert_eq!([disable, preferred], [Ok(false), Ok(false)]);
    for refused in [required, chain, full] {
        let told = ["does not offer it", "--tls-mode preferred"];
        assert_has(&refused.unwrap_err(), &told);
    }
}

/// `openssl x509 -req` makes such certificates, and so do many manuals.
#[test]
fn an_old_form_of_certificate_hinders_only_who_checks_it() {
    let dir = directory();
    let ca = authority(dir.path(), "ca");
    let certificate = signed(dir.path(), &ca, "localhost", None);
    let option = |name: &str, file: &Path| format!("--ssl-{name}={}", file.display());
    let server = MariaDb::start(&[
        &option("ca", &ca),
        &option("cert", &certificate),
        &option("key", &key_of(&certificate)),
    ]);
    let [_, preferred, required, ..] = outcomes(&server, "localhost", &ca);
    assert_eq!([preferred, required], [Ok(true), Ok(true)]);
}

#[test]
fn a_client_with_a_certificate() {
    for server in both_with_tls() {
        server.sql("CREATE USER x IDENTIFIED BY 'p' REQUIRE X509; GRANT ALL ON *.* TO x");
        let dir = directory();
        let mut with = with_certificate(dir.path(), &server.ca_file());
        with.server_public_key = ServerPublicKey::Accepted;
        let (_, tls) = log_in(&account(&server, "x", "p", &with)).unwrap();
        assert!(tls.is_some());

        for without in [closed(), open()] {
            let error = log_in(&account(&server, "x", "p", &without)).unwrap_err();
            assert_eq!(error.number(), Some(1045), "{error}");
        }
        // One that another authority signed is as good as none, or worse.
        let other = authority(dir.path(), "ca");
        let wrong = with_certificate(dir.path(), &other);
        let error = log_in(&account(&server, "x", "p", &wrong)).unwrap_err();
        let is_alert = error.to_string().contains("alert");
        assert!(is_alert || error.number() == Some(1045), "{error}");
    }
}

/// TLS with a client's certificate that this authority signed.
fn with_certificate(files: &Path, authority: &Path) -> TlsOptions {
    let certificate = of_client(files, authority, "localhost");
    TlsOptions {
        key: Some(key_of(&certificate)),
        certificate: Some(certificate),
        ..closed()
    }
}

/// A TLS record holds 16 KiB, and the socket gives several at once.
#[test]
fn long_replies_and_statements_under_tls() {
    for server in both_with_tls() {
        let target = root_at(&server, "localhost", &closed());
        run(async {
            let mut connection = Connection::open(&target).await.unwrap();
            for length in [100, 16_384, 100_000, 5_000_000] {
                let sql = format!("SELECT repeat('x', {length})");
                assert_eq!(connection.run(&sql).await.unwrap().rows, 1);
                let text = connection.rows(&sql).await.unwrap();
                assert_eq!(text[0][0].as_ref().map(String::len), Some(length));
                let sql = format!("SELECT length('{}')", "y".repeat(length));
                let rows = connection.rows(&sql).await.unwrap();
                assert_eq!(rows, [[Some(length.to_string())]]);
            }
            connection.close().await;
        });
    }
}

/// A directory that the server's own account can read.
fn directory() -> TempDir {
    let mode = fs::Permissions::from_mode(0o755);
    let dir = tempfile::Builder::new().permissions(mode).tempdir();
    dir.unwrap()
}
