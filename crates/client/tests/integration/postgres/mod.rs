//! PostgreSQL: logins, statements, failures, and peers that are not what they seem.

mod failures;
mod impostors;
mod logins;
mod statements;
mod workloads;

use std::future::Future;

use client::postgres::{Connection, Error, Target};
use client::reactor::Reactor;
use client::tls::{TlsMode, TlsOptions};
use testkit::PostgresServer;

/// Runs a future on a loop of its own.
fn run<F: Future>(future: F) -> F::Output {
    Reactor::new().unwrap().block_on(future).unwrap()
}

/// TLS of this mode.
fn tls(mode: TlsMode) -> TlsOptions {
    TlsOptions {
        mode: Some(mode),
        ..TlsOptions::default()
    }
}

/// A target without anything of the environment.
#[track_caller]
fn target(url: &str, password: Option<&str>, tls: &TlsOptions) -> Target {
    Target::parse_with(url, password, "nobody", tls, &|_| None).unwrap()
}

/// `root` over TCP, in clear.
fn root(server: &PostgresServer) -> Target {
    target(&server.url("sbtest"), None, &tls(TlsMode::Disable))
}

/// The one value of a query.
async fn one_value(connection: &mut Connection, sql: &str) -> String {
    let rows = connection.rows(sql).await.unwrap();
    match rows.as_slice() {
        [row] => match row.as_slice() {
            [Some(value)] => value.clone(),
            _ => panic!("{sql}: {rows:?}"),
        },
        _ => panic!("{sql}: {rows:?}"),
    }
}

/// Fails unless the error and its remedy hold all of `parts`.
#[track_caller]
fn assert_told(error: &Error, parts: &[&str]) {
    let text = format!("{error}; {}", error.remedy().expect("there is a remedy"));
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}
