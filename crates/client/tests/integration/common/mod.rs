//! What the tests of connections share, whatever the protocol.

pub(crate) mod certificates;
pub(crate) mod peer;
pub(crate) mod thief;

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use client::mysql::{Mysql, Target};
use client::reactor::Reactor;
use client::route::Route;
use client::session::{Connector, NetworkSession};
use client::tls::TlsFailure;
use client::{Connection, Error, Protocol, ServerPublicKey, StatementProtocol};
use client::{TlsMode, TlsOptions, Withheld};
use testkit::{MariaDb, MySql, Server};
use wire::ProtocolError;
use workload::catalog::{Catalog, Label, StatementClass};
use workload::session::{Connect, Session, SessionError};

/// Long enough for a machine that is busy with other tests.
pub(crate) const PATIENCE: Duration = Duration::from_secs(300);

pub(crate) const ALL_MODES: [TlsMode; 5] = [
    TlsMode::Disable,
    TlsMode::Preferred,
    TlsMode::Required,
    TlsMode::VerifyCa,
    TlsMode::VerifyFull,
];

/// Runs a future on a loop of its own.
pub(crate) fn run<F: Future>(future: F) -> F::Output {
    Reactor::new().unwrap().block_on(future).unwrap()
}

/// TLS of this mode.
pub(crate) fn tls(mode: TlsMode) -> TlsOptions {
    TlsOptions {
        mode: Some(mode),
        ..TlsOptions::default()
    }
}

/// TLS of this mode, trusting `ca` where it verifies.
pub(crate) fn trusting(ca: PathBuf, mode: TlsMode) -> TlsOptions {
    let verifies = matches!(mode, TlsMode::VerifyCa | TlsMode::VerifyFull);
    let ca = verifies.then_some(ca);
    TlsOptions { ca, ..tls(mode) }
}

/// In clear, whatever the server offers.
pub(crate) fn open() -> TlsOptions {
    tls(TlsMode::Disable)
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
    tls(TlsMode::Required)
}

pub(crate) fn both(options: &[&str]) -> [Server; 2] {
    [MariaDb::start(options), MySql::start(options)]
}

/// An account of `server` by its TCP port.
pub(crate) fn account(server: &Server, user: &str, password: &str, tls: &TlsOptions) -> Target {
    at("127.0.0.1", server, user, password, tls)
}

/// The same by a name for the host.
pub(crate) fn at(
    host: &str,
    server: &Server,
    user: &str,
    password: &str,
    tls: &TlsOptions,
) -> Target {
    let url = format!("mysql://{user}@{host}:{}/sbtest", server.port());
    Target::parse(&url, Some(password), "nobody", tls).unwrap()
}

pub(crate) fn by_socket(server: &Server, user: &str, password: &str, tls: &TlsOptions) -> Target {
    let socket = server.socket();
    let url = format!(
        "mysql://{user}@localhost/sbtest?socket={}",
        socket.display()
    );
    Target::parse(&url, Some(password), "nobody", tls).unwrap()
}

/// `root`, in clear.
pub(crate) fn root(server: &Server) -> Target {
    account(server, "root", "", &open())
}

/// Logs in, and says as whom and under which TLS.
pub(crate) fn log_in(target: &Target) -> Result<(String, Option<String>), Error> {
    run(async {
        let mut connection = Connection::<Mysql>::open(target).await?;
        let tls = connection.tls_description();
        let user = one_value(&mut connection, "SELECT current_user()").await;
        connection.close().await;
        Ok((user, tls))
    })
}

/// The one value of a statement.
pub(crate) async fn one_value<P: Protocol>(connection: &mut Connection<P>, sql: &str) -> String {
    let rows = connection.rows(sql).await.unwrap();
    let cells: Vec<_> = rows.into_iter().flatten().collect();
    match <[Option<String>; 1]>::try_from(cells) {
        Ok([Some(value)]) => value,
        other => panic!("{sql}: {other:?}"),
    }
}

/// These statements, numbered from 0.
pub(crate) fn catalog(statements: &[&str]) -> Arc<Catalog> {
    let mut catalog = Catalog::default();
    let label = catalog.labels.intern("statement", StatementClass::Other);
    for sql in statements {
        catalog.add(label, (*sql).to_owned());
    }
    Arc::new(catalog)
}

pub(crate) fn connector<P: Protocol>(target: P::Target) -> Connector<P> {
    Connector {
        targets: vec![Arc::new(target)],
        route: Arc::new(Route::fixed()),
        protocol: StatementProtocol::Prepared,
        stamp_replies: true,
    }
}

/// A session with these statements.
pub(crate) async fn session<P: Protocol>(
    target: P::Target,
    statements: &[&str],
) -> NetworkSession<P> {
    let connector = connector::<P>(target);
    connector.connect(&catalog(statements)).await.unwrap()
}

/// The number of rows of a statement as text.
pub(crate) async fn query<P: Protocol>(
    session: &mut NetworkSession<P>,
    sql: &str,
) -> Result<u64, SessionError> {
    let reply = session.query(Label::default(), sql).await;
    reply.map(|reply| reply.rows)
}

/// Why the server did not get the password.
#[track_caller]
pub(crate) fn why_withheld(error: &Error) -> Withheld {
    match error {
        Error::Withheld { why, .. } => *why,
        other => panic!("{other}"),
    }
}

#[track_caller]
pub(crate) fn why_no_tls(error: &Error) -> &TlsFailure {
    match error {
        Error::Tls { why, .. } => why,
        other => panic!("{other}"),
    }
}

/// How the server violated the protocol.
#[track_caller]
pub(crate) fn violation(error: &Error) -> &ProtocolError {
    match error {
        Error::Protocol(violation) => violation,
        other => panic!("{other}"),
    }
}

/// Fails unless `text` holds all of `parts`.
#[track_caller]
pub(crate) fn assert_has(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "{part:?} is missing in: {text}");
    }
}

/// Fails unless the error's text and its remedy hold these parts.
#[track_caller]
pub(crate) fn assert_told(error: &Error, text: &[&str], remedy: &[&str]) {
    assert_has(&error.to_string(), text);
    assert_has(error.remedy().expect("there is a remedy"), remedy);
}
