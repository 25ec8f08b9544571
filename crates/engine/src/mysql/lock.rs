//! Serializes preparations of one database by an advisory lock, which the server releases
//! when the connection ends, for whatever reason.

use std::time::{Duration, Instant};

use client::mysql::{Connection, Error};

use crate::data::{PrepareError, Progress};

/// The longest wait for another preparation of the same database.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(3600);
/// The interval between notes while waiting.
const TELL_INTERVAL: Duration = Duration::from_secs(60);
/// The lock's name, as the server knows it: at most 64 characters in MySQL.
const NAME: &str = "LEFT(CONCAT('dyno prepares ', DATABASE()), 64)";
/// A connection that only holds a lock is idle, for as long as the load takes.
const STAY: &str = "SET SESSION wait_timeout = 31536000";

/// Acquires the lock of the connection's database; waits at most `limit` for another holder.
/// Without support for locks, warns the user and continues.
///
/// # Errors
/// When the limit has passed, or the connection fails.
pub(crate) async fn take(
    connection: &mut Connection,
    limit: Duration,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), PrepareError> {
    let begun = Instant::now();
    let mut told = None;
    connection.run(STAY).await?;
    loop {
        let reply = match try_once(connection).await {
            Ok(reply) => reply,
            Err(error @ Error::Statement { .. }) => return without(&error.to_string(), tell),
            Err(error) => return Err(error.into()),
        };
        match reply.as_deref() {
            Some("1") => return Ok(()),
            Some(_) => {}
            None => return without("GET_LOCK() returned NULL", tell),
        }
        let holder = holder(connection).await?;
        let waited = begun.elapsed();
        if waited >= limit {
            return Err(PrepareError::Busy { holder, limit });
        }
        if told.is_none_or(|told: Instant| told.elapsed() >= TELL_INTERVAL) {
            told = Some(Instant::now());
            tell(Progress::Note(format!(
                "another dyno is preparing this database (connection {holder}); waiting for it, {} s of at most {} s",
                waited.as_secs(),
                limit.as_secs()
            )));
        }
    }
}

/// Waits up to a second for the lock.
async fn try_once(connection: &mut Connection) -> Result<Option<String>, Error> {
    let rows = connection
        .rows(&format!("SELECT GET_LOCK({NAME}, 1)"))
        .await?;
    Ok(rows.into_iter().flatten().next().flatten())
}

/// The number of the connection that holds it.
async fn holder(connection: &mut Connection) -> Result<String, Error> {
    let rows = connection
        .rows(&format!("SELECT IS_USED_LOCK({NAME})"))
        .await?;
    let number = rows.into_iter().flatten().next().flatten();
    Ok(number.unwrap_or_else(|| "unknown".to_owned()))
}

fn without(why: &str, tell: &mut dyn FnMut(Progress)) -> Result<(), PrepareError> {
    tell(Progress::Note(format!(
        "the server does not provide advisory locks ({why}); make sure that no other dyno prepares this database at the same time"
    )));
    Ok(())
}

#[cfg(test)]
#[allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failing test tells more"
)]
mod tests {
    use client::mysql::{Target, TlsOptions};
    use client::reactor::Reactor;
    use testkit::MariaDb;

    use super::*;

    #[test]
    fn a_database_that_stays_taken_is_named_with_its_holder() {
        let server = MariaDb::start(&[]);
        let target = |database: &str| {
            let url = server.url(database);
            Target::parse(&url, None, "root", &TlsOptions::default()).unwrap()
        };
        server.sql("CREATE DATABASE other");
        let done = Reactor::new().unwrap().block_on(async {
            let mut first = Connection::open(&target("sbtest")).await?;
            let mut second = Connection::open(&target("sbtest")).await?;
            let mut elsewhere = Connection::open(&target("other")).await?;
            let mut told = Vec::new();
            let mut tell = |news| told.push(news);
            take(&mut first, Duration::ZERO, &mut tell).await.unwrap();
            take(&mut elsewhere, Duration::ZERO, &mut tell)
                .await
                .unwrap();
            assert!(told.is_empty(), "{told:?}");
            let refused = take(&mut second, Duration::ZERO, &mut |_| {}).await;
            match refused {
                Err(PrepareError::Busy { holder, .. }) => {
                    assert_eq!(holder, first.id().to_string());
                }
                other => panic!("{other:?}"),
            }
            first.close().await;
            take(&mut second, Duration::from_secs(60), &mut |_| {})
                .await
                .unwrap();
            Ok::<_, Error>(())
        });
        done.unwrap().unwrap();
    }
}
