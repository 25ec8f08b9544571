//! Servers that are reached over the network: one connection to them, whatever its protocol.

use std::future::Future;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ::load::STALL_LIMIT;
use client::reactor::{Reactor, timeout, unless};
use client::{Connection, Protocol};

use crate::error::{Cause, EngineError};

/// How long a server may take to show that it is alive.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
/// Rows as text.
pub(crate) type Rows = Vec<Vec<Option<String>>>;

/// A connection to a server.
pub(crate) trait Remote: Sized {
    /// Which server, as whom.
    type Target;

    /// The server and account, without the password.
    fn shown(target: &Self::Target) -> String;

    /// Connects and logs in.
    async fn open(target: &Self::Target) -> Result<Self, ServerError>;

    /// Runs a statement and gathers its rows.
    async fn rows(&mut self, sql: &str) -> Result<Rows, ServerError>;

    /// Runs a statement for its effect.
    async fn run(&mut self, sql: &str) -> Result<(), ServerError>;

    /// Closes the connection in the way of its protocol.
    async fn close(self);
}

impl<P: Protocol> Remote for Connection<P> {
    type Target = P::Target;

    fn shown(target: &P::Target) -> String {
        P::shown(target)
    }

    async fn open(target: &P::Target) -> Result<Self, ServerError> {
        Ok(Self::open(target).await?)
    }

    async fn rows(&mut self, sql: &str) -> Result<Rows, ServerError> {
        Ok(self.rows(sql).await?)
    }

    async fn run(&mut self, sql: &str) -> Result<(), ServerError> {
        self.run(sql).await?;
        Ok(())
    }

    async fn close(self) {
        self.close().await;
    }
}

/// The first cell of the first row.
pub(crate) fn first_cell(rows: Rows) -> Option<String> {
    rows.into_iter().flatten().next().flatten()
}

/// A server that failed, or the way to it.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ServerError {
    message: String,
    remedy: Option<&'static str>,
    /// Whether it is the server's own answer.
    is_answer: bool,
}

impl ServerError {
    /// What the user can do about it.
    #[must_use]
    pub fn remedy(&self) -> Option<&'static str> {
        self.remedy
    }

    /// Whether the server refused what it was asked, so it is alive and the connection is open.
    pub(crate) fn is_answer(&self) -> bool {
        self.is_answer
    }

    fn hung(server: String, limit: Duration) -> Self {
        Self {
            message: format!(
                "{server} hangs: no reply to a statement for {limit:?}, nor to a new connection"
            ),
            remedy: Some(
                "look into the server's error log, and check its disk and the network between",
            ),
            is_answer: false,
        }
    }
}

impl From<client::Error> for ServerError {
    fn from(error: client::Error) -> Self {
        Self {
            is_answer: error.is_answer(),
            remedy: error.remedy(),
            message: error.to_string(),
        }
    }
}

impl From<ServerError> for EngineError {
    fn from(error: ServerError) -> Self {
        Self::Failed {
            cause: Cause::Server,
            message: error.message,
            remedy: error.remedy.map(str::to_owned),
        }
    }
}

/// Asks a server something on a connection of its own, within a limit.
pub(crate) fn ask<C: Remote, T>(
    target: &C::Target,
    limit: Duration,
    question: impl AsyncFnOnce(&mut C) -> Result<T, ServerError>,
) -> Result<T, ServerError> {
    let asked = async {
        let mut connection = C::open(target).await?;
        let answer = question(&mut connection).await?;
        connection.close().await;
        Ok(answer)
    };
    let failed = |message| ServerError {
        message,
        remedy: None,
        is_answer: false,
    };
    match Reactor::new().and_then(|reactor| reactor.block_on(timeout(limit, asked))) {
        Ok(Ok(answer)) => answer,
        Ok(Err(_)) => Err(failed(format!(
            "the server gave no answer within {limit:?}"
        ))),
        Err(error) => Err(failed(format!("cannot ask the server: {error}"))),
    }
}

/// Does some work on one connection to a server, unless the user stops or the server hangs
/// before it is done.
pub(crate) fn connected<C: Remote, T, E: Into<ServerError>>(
    target: &C::Target,
    interrupted: &AtomicBool,
    work: impl AsyncFnOnce(&mut C) -> Result<T, E>,
) -> Result<T, EngineError> {
    let whole = async {
        let mut connection = C::open(target).await?;
        let done = work(&mut connection).await.map_err(E::into)?;
        connection.close().await;
        Ok::<_, ServerError>(done)
    };
    let stopped = || interrupted.load(Ordering::Relaxed);
    let whole = unless_hung::<C, _>(target, STALL_LIMIT, || 0, whole);
    match on_reactor(unless(stopped, whole))? {
        Some(done) => Ok(done??),
        None => Err(EngineError::Interrupted),
    }
}

/// Runs `work` to its end on an event loop of its own.
pub(crate) fn on_reactor<T>(work: impl Future<Output = T>) -> Result<T, EngineError> {
    let reactor = Reactor::new();
    let done = reactor.and_then(|reactor| reactor.block_on(work));
    done.map_err(|error| {
        let message = format!("cannot run an event loop: {error}");
        EngineError::failed(Cause::Internal, message)
    })
}

/// A path as part of a URL.
pub(crate) fn url_path(path: &Path) -> String {
    let encoded = |byte: &u8| match byte.is_ascii_alphanumeric() || b"/-_.".contains(byte) {
        true => char::from(*byte).to_string(),
        false => format!("%{byte:02X}"),
    };
    path.as_os_str().as_bytes().iter().map(encoded).collect()
}

/// Reads what these statements select, on one connection, unless the user stops.
pub(crate) fn read<C: Remote>(
    target: &C::Target,
    statements: impl Iterator<Item = String>,
    interrupted: &AtomicBool,
) -> Result<(), EngineError> {
    connected(target, interrupted, async |connection: &mut C| {
        for sql in statements {
            connection.rows(&sql).await?;
        }
        Ok::<_, ServerError>(())
    })
}

/// Runs `work` on a server for as long as it takes, unless the server hangs: `progress` has
/// not changed for `limit`, and a new connection is not answered either. So a statement may
/// take hours, and the work ends at most twice the limit and 10 s after the server hung.
///
/// # Errors
/// When the server hangs; the work is then dropped.
pub(crate) async fn unless_hung<C: Remote, T>(
    target: &C::Target,
    limit: Duration,
    progress: impl Fn() -> u64,
    work: impl Future<Output = T>,
) -> Result<T, ServerError> {
    let mut work = pin!(work);
    let mut last = progress();
    loop {
        if let Ok(done) = timeout(limit, work.as_mut()).await {
            return Ok(done);
        }
        let now = progress();
        if now == last && !is_alive::<C>(target).await {
            return Err(ServerError::hung(C::shown(target), limit));
        }
        last = now;
    }
}

/// Whether a server answers. A refusal is an answer, too.
async fn is_alive<C: Remote>(target: &C::Target) -> bool {
    let asked = async {
        let mut connection = C::open(target).await?;
        connection.rows("SELECT 1").await?;
        connection.close().await;
        Ok::<_, ServerError>(())
    };
    match timeout(ANSWER_LIMIT, asked).await {
        Ok(Ok(())) => true,
        Ok(Err(error)) => error.is_answer(),
        Err(_) => false,
    }
}

#[cfg(test)]
mod tests {
    use client::TlsOptions;
    use client::mysql::{Connection, Target};
    use testkit::MariaDb;

    use super::*;

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
        let slow = unless_hung::<Connection, _>(&target, limit, || 0, work);
        reactor.block_on(slow).unwrap().unwrap().unwrap();
    }
}
