//! PostgreSQL: logins, statements, failures.

mod failures;
mod logins;
mod statements;
mod workloads;

use client::TlsOptions;
use client::postgres::Target;
use testkit::PostgresServer;

use crate::common::open;

/// A target without anything of the environment.
#[track_caller]
pub(crate) fn target(url: &str, password: Option<&str>, tls: &TlsOptions) -> Target {
    Target::parse(url, password, "nobody", tls, &|_| None).unwrap()
}

/// `root` over TCP, in clear.
fn root(server: &PostgresServer) -> Target {
    target(&server.url("sbtest"), None, &open())
}

fn by_socket(server: &PostgresServer, user: &str) -> String {
    let (directory, port) = (server.socket_directory().display(), server.port());
    format!("postgres://{user}@/sbtest?host={directory}&port={port}")
}
