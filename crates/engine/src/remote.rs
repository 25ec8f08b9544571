//! Connections to servers of any protocol, and limits on how long servers may take.

use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::load::STALL_LIMIT;
use client::connection::LOGIN_LIMIT;
use client::reactor::{Reactor, timeout, unless};
use client::{Connection, Error, Protocol};
use plan::Failure;
use workload::session::{FailureKind, SessionError};

use crate::launch::Login;
use crate::network::NetworkEngine;

/// How long a server may take to show that it is alive.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// How long a server of the laboratory may take for an administrator's statement: without a quorum,
/// or on a disk that hangs, some statements never end.
const ADMINISTRATION_LIMIT: Duration = Duration::from_secs(120);
pub(crate) type Rows = Vec<Vec<Option<String>>>;

pub(crate) fn first_cell(rows: Rows) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}

pub(crate) fn first_number(rows: Rows) -> Option<u64> {
    first_cell(rows)?.parse().ok()
}

/// Opens a connection within `login_limit`, calls `work` with it, and closes it.
pub(crate) async fn on_connection<P: Protocol, T>(
    target: &P::Target,
    login_limit: Duration,
    work: impl AsyncFnOnce(&mut Connection<P>) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut connection = Connection::open_within(login_limit, target).await?;
    let done = work(&mut connection).await?;
    // Servers count connections that end without a message as aborted.
    connection.close().await;
    Ok(done)
}

/// Calls `work` as the administrator of a server of the laboratory, for at most 120 s.
pub(crate) fn administer<P: NetworkEngine, T>(
    login: &Login<'_>,
    login_limit: Duration,
    work: impl AsyncFnOnce(&mut Connection<P>) -> Result<T, Error>,
) -> Result<Result<T, Error>, Failure> {
    let target = P::administrator(login)?;
    let done = on_connection(&target, login_limit, work);
    within(ADMINISTRATION_LIMIT, login.server, done)
}

fn within<T>(limit: Duration, server: &str, work: impl Future<Output = T>) -> Result<T, Failure> {
    on_reactor(timeout(limit, work))?
        .ok_or_else(|| Failure::server(format!("{server} did not answer within {limit:?}")))
}

/// Calls `question` with a new connection to a server, within a limit.
pub(crate) fn ask<P: Protocol, T>(
    target: &P::Target,
    limit: Duration,
    question: impl AsyncFnOnce(&mut Connection<P>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let asked = on_connection(target, LOGIN_LIMIT, question);
    Ok(within(limit, "the server", asked)??)
}

/// Calls `work` with a connection to a server, unless the user interrupts it or the server hangs.
pub(crate) fn connected<P: Protocol, T>(
    target: &P::Target,
    interrupted: &AtomicBool,
    work: impl AsyncFnOnce(&mut Connection<P>) -> Result<T, Error>,
) -> Result<T, Failure> {
    let whole = on_connection(target, LOGIN_LIMIT, work);
    let stopped = || interrupted.load(Ordering::Relaxed);
    let whole = unless_hung::<P, _>(target, STALL_LIMIT, || 0, whole);
    match on_reactor(unless(stopped, whole))? {
        Some(done) => Ok(done??),
        None => Err(Failure::interrupted("interrupted")),
    }
}

/// Runs `work` to its end on a new event loop.
pub(crate) fn on_reactor<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    let reactor = Reactor::new();
    let done = reactor.and_then(|reactor| reactor.block_on(work));
    done.map_err(|error| Failure::internal(format!("cannot run an event loop: {error}")))
}

pub(crate) fn url_path(path: &Path) -> String {
    let encoded = |byte: &u8| match byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(encoded).collect()
}

/// Runs `work` on a server for as long as it takes, unless the server hangs: `progress` has not
/// changed for `limit`, and a new connection gets no answer either. So a statement may take hours,
/// and the work ends at most twice the limit plus 10 s after the server hung.
pub(crate) async fn unless_hung<P: Protocol, T>(
    target: &P::Target,
    limit: Duration,
    progress: impl Fn() -> u64,
    work: impl Future<Output = T>,
) -> Result<T, Failure> {
    let mut work = pin!(work);
    let mut last = progress();
    loop {
        if let Some(done) = timeout(limit, work.as_mut()).await {
            return Ok(done);
        }
        let now = progress();
        if now == last && !is_alive::<P>(target).await {
            let failure = Failure::server(format!(
                "{target} hangs: no reply to a statement for {limit:?}, or to a new connection"
            ));
            return Err(failure.remedy("check the server's log, its disk, and the network"));
        }
        last = now;
    }
}

/// A refusal is an answer, too.
async fn is_alive<P: Protocol>(target: &P::Target) -> bool {
    let question = async |connection: &mut Connection<P>| connection.rows("SELECT 1").await;
    let asked = on_connection(target, LOGIN_LIMIT, question);
    match timeout(ANSWER_LIMIT, asked).await {
        Some(Ok(_)) => true,
        Some(Err(error)) => error.is_answer(),
        None => false,
    }
}

/// A connection that blocks its thread, which must be the one that opened it. Dropping it closes
/// it.
pub trait Sql {
    /// Executes a statement and returns its rows as text; empty if it returns none.
    fn rows(&mut self, sql: &str, limit: Duration) -> Result<Rows, SessionError>;
}

/// A connection of a network engine with an event loop of its own.
pub(crate) struct Blocking<P: Protocol> {
    reactor: Reactor,
    connection: Connection<P>,
}

impl<P: Protocol> Blocking<P> {
    /// Opens a connection within the limit, which cannot exceed that of a login.
    pub(crate) fn open(target: &P::Target, limit: Duration) -> Result<Self, SessionError> {
        let reactor = Reactor::new().map_err(|error| failed(error.to_string()))?;
        let open = Connection::open_within(limit.min(LOGIN_LIMIT), target);
        let opened = reactor.block_on(open);
        let opened = opened.map_err(|error| failed(error.to_string()))?;
        let connection = opened.map_err(|error: Error| error.into_session_error(None))?;
        Ok(Self {
            reactor,
            connection,
        })
    }
}

impl<P: Protocol> Sql for Blocking<P> {
    fn rows(&mut self, sql: &str, limit: Duration) -> Result<Rows, SessionError> {
        let asked = timeout(limit, self.connection.rows(sql));
        let answered = self.reactor.block_on(asked);
        match answered.map_err(|error| failed(error.to_string()))? {
            Some(rows) => rows.map_err(|error| error.into_session_error(Some(sql))),
            None => Err(failed(format!("no answer within {limit:?}"))),
        }
    }
}

fn failed(message: String) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        sqlstate: None,
        number: None,
        message,
        statement: None,
    }
}

#[cfg(test)]
mod tests {
    use client::TlsOptions;
    use client::mysql::{Connection, Mysql, Target};
    use testkit::MariaDb;

    use super::*;

    #[test]
    fn a_server_that_hangs_after_the_login_is_given_up() {
        let server = MariaDb::start(&[]);
        let url = server.url("sbtest");
        let target = Target::parse(&url, None, "root", &TlsOptions::default()).unwrap();
        let work = async |connection: &mut Connection| connection.run("DO SLEEP(600)").await;
        let hung = on_connection(&target, LOGIN_LIMIT, work);
        let error = within(Duration::from_millis(300), "server 1", hung).unwrap_err();
        assert_eq!(error.to_string(), "server 1 did not answer within 300ms");
    }

    #[test]
    fn a_slow_statement_of_a_healthy_server_is_waited_for() {
        let server = MariaDb::start(&[]);
        let url = server.url("sbtest");
        let target = Target::parse(&url, None, "root", &TlsOptions::default()).unwrap();
        let reactor = Reactor::new().unwrap();
        let opened = reactor.block_on(Connection::open(&target)).unwrap();
        let mut connection = opened.unwrap();
        let limit = Duration::from_millis(300);
        let work = connection.run("DO SLEEP(3)");
        let slow = unless_hung::<Mysql, _>(&target, limit, || 0, work);
        reactor.block_on(slow).unwrap().unwrap().unwrap();
    }
}
