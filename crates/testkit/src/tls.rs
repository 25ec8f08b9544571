//! A certificate authority and a server certificate for one test, made by the `openssl` program.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use machine::account::Account;

/// Fills `dir` and returns the server settings that use it. The certificate is for the name `localhost` and not for
/// 127.0.0.1, so that a test can see both a match and a mismatch.
pub(crate) fn create(dir: &Path, account: &Account) -> Vec<(String, String)> {
    fs::create_dir(dir).expect("the server's directory can be written");
    certify(dir, "DNS:localhost");
    account
        .own(&dir.join("server-key.pem"))
        .unwrap_or_else(|e| panic!("{e}"));
    [
        ("ca", "ca.pem"),
        ("cert", "server-cert.pem"),
        ("key", "server-key.pem"),
    ]
    .map(|(option, file)| {
        (
            format!("ssl_{option}"),
            dir.join(file).display().to_string(),
        )
    })
    .to_vec()
}

/// Makes an authority, `ca.pem`, and a certificate for these names as server and client,
/// `server-cert.pem` and `server-key.pem`.
pub fn certify(dir: &Path, names: &str) {
    let extensions = format!(
        "subjectAltName={names}\nextendedKeyUsage=serverAuth,clientAuth\nbasicConstraints=CA:FALSE\n"
    );
    fs::write(dir.join("extensions"), extensions).expect("the server's directory can be written");
    let key = "-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes";
    openssl(
        dir,
        &format!(
            "req -x509 {key} -days 3650 -subj /CN=dyno-test-ca -keyout ca-key.pem -out ca.pem"
        ),
    );
    openssl(
        dir,
        &format!("req -new {key} -subj /CN=localhost -keyout server-key.pem -out server.csr"),
    );
    openssl(
        dir,
        "x509 -req -in server.csr -CA ca.pem -CAkey ca-key.pem -CAcreateserial -days 3650 -extfile extensions \
         -out server-cert.pem",
    );
}

/// The authority's certificate in a directory filled by [`create`].
pub(crate) fn ca_file(dir: &Path) -> PathBuf {
    dir.join("ca.pem")
}

/// Runs `openssl` with these words in a directory.
#[track_caller]
pub fn openssl(dir: &Path, arguments: &str) {
    let output = Command::new("openssl")
        .args(arguments.split_whitespace())
        .current_dir(dir)
        .output()
        .unwrap_or_else(|e| panic!("openssl: {e}"));
    assert!(
        output.status.success(),
        "openssl {arguments}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}
