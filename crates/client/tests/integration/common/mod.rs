//! What the tests of connections share.

pub(crate) mod peer;
pub(crate) mod thief;

use std::future::Future;
use std::path::PathBuf;

use client::mysql::{Connection, Error, ServerPublicKey, Target, TlsMode, TlsOptions};
use client::reactor::Reactor;
use testkit::Server;

/// Runs a future on a loop of its own.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    Reactor::new().unwrap().block_on(future).unwrap()
}

/// TLS of this mode, trusting `ca`.
pub(crate) fn tls(mode: TlsMode, ca: Option<PathBuf>) -> TlsOptions {
    TlsOptions {
        mode: Some(mode),
        ca,
        ..TlsOptions::default()
    }
}

/// In clear, whatever the server offers.
pub(crate) fn open() -> TlsOptions {
    tls(TlsMode::Disable, None)
}

/// In clear, with whatever key the server has.
pub(crate) fn accepting() -> TlsOptions {
    TlsOptions {
        server_public_key: ServerPublicKey::Accepted,
        ..open()
    }
}

/// Under TLS, without a check.
pub(crate) fn closed() -> TlsOptions {
    tls(TlsMode::Required, None)
}

/// An account of `server` by its TCP port.
pub(crate) fn account(server: &Server, user: &str, password: &str, tls: &TlsOptions) -> Target {
    let url = format!("mysql://{user}@127.0.0.1:{}/sbtest", server.port());
    Target::parse(&url, Some(password), "nobody", tls).unwrap()
}

/// `root`, in clear.
pub(crate) fn root(server: &Server) -> Target {
    account(server, "root", "", &open())
}

/// Logs in, and says as whom and under which TLS.
pub(crate) fn log_in(target: &Target) -> Result<(String, Option<String>), Error> {
    run(async {
        let mut connection = Connection::open(target).await?;
        let tls = connection.tls_description();
        let user = one_value(&mut connection, "SELECT current_user()").await;
        connection.close().await;
        Ok((user, tls))
    })
}

/// The one value of a statement.
pub(crate) async fn one_value(connection: &mut Connection, sql: &str) -> String {
    let rows = connection.rows(sql).await.unwrap();
    match rows.as_slice() {
        [row] => match row.as_slice() {
            [Some(value)] => value.clone(),
            _ => panic!("{sql}: {rows:?}"),
        },
        _ => panic!("{sql}: {rows:?}"),
    }
}

/// The error's text and what to do about it.
pub(crate) fn told(error: &Error) -> (String, &'static str) {
    (
        error.to_string(),
        error.remedy().expect("there is a remedy"),
    )
}

/// Fails unless `text` holds all of `parts`.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}
