//! Serializes preparations of one database with an advisory lock. The server releases it when the
//! connection ends, for whatever reason.

use std::time::{Duration, Instant};

use client::Connection;
use client::reactor::sleep_until;
use plan::Failure;

use super::Progress;
use super::loads::{Loads, Lock};

/// The longest wait for another preparation of the same database.
pub(crate) const WAIT_LIMIT: Duration = Duration::from_secs(3600);
/// How often to try to take the lock.
const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The interval between messages while waiting.
const NOTE_INTERVAL: Duration = Duration::from_secs(60);

/// Takes the lock of the connection's database, waiting at most `limit` for another holder. If the
/// server has no locks, warns the user and continues.
pub(crate) async fn take<P: Loads>(
    connection: &mut Connection<P>,
    limit: Duration,
    tell: &mut dyn FnMut(Progress),
) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut noted = None;
    loop {
        let holder = match P::try_lock(connection).await {
            Ok(Lock::Taken) => return Ok(()),
            Ok(Lock::HeldBy(holder)) => holder,
            Ok(Lock::Unsupported(why)) => return without(&why, tell),
            Err(error) if error.is_answer() => return without(&error.to_string(), tell),
            Err(error) => return Err(error.into()),
        };
        let waited = begun.elapsed();
        if waited >= limit {
            let termination = P::TERMINATION.replace('#', &holder);
            return Err(busy(&holder, &termination, limit));
        }
        if noted.is_none_or(|noted: Instant| noted.elapsed() >= NOTE_INTERVAL) {
            noted = Some(Instant::now());
            tell(Progress::Note(format!(
                "another dyno is preparing this database (connection {holder}); waiting for it, {} s of at most {} s",
                waited.as_secs(),
                limit.as_secs()
            )));
        }
        sleep_until(Instant::now() + POLL_INTERVAL).await;
    }
}

/// The failure while another dyno prepares the same database; nothing was changed.
fn busy(holder: &str, termination: &str, limit: Duration) -> Failure {
    Failure::server(format!(
        "another dyno has been preparing this database for more than {} s (connection {holder} of the server)",
        limit.as_secs()
    ))
    .remedy(format!(
        "wait for it, terminate it ({termination}), or use another database"
    ))
}

fn without(why: &str, tell: &mut dyn FnMut(Progress)) -> Result<(), Failure> {
    tell(Progress::Note(format!(
        "the server does not provide advisory locks ({why}); make sure that no other dyno prepares this database at the same time"
    )));
    Ok(())
}

#[cfg(test)]
mod tests {
    use client::reactor::Reactor;
    use client::{TlsOptions, mysql, postgres};
    use testkit::{MariaDb, Postgres};

    use super::*;

    /// The third connection is to another database.
    async fn excludes<P: Loads>(here: &P::Target, elsewhere: &P::Target) -> String {
        let mut first = Connection::<P>::open(here).await.unwrap();
        let mut second = Connection::<P>::open(here).await.unwrap();
        let mut elsewhere = Connection::<P>::open(elsewhere).await.unwrap();
        for connection in [&mut first, &mut elsewhere] {
            let tell = &mut |news| panic!("{news:?}");
            take(connection, Duration::ZERO, tell).await.unwrap();
        }
        let refused = take(&mut second, Duration::ZERO, &mut |_| {}).await;
        let refused = refused.unwrap_err();
        let holder = between(&refused.message, "(connection ", " of the server)");
        let termination = between(
            refused.remedy.as_deref().unwrap(),
            "terminate it (",
            "), or",
        );
        elsewhere.run(termination).await.unwrap();
        take(&mut second, Duration::from_secs(60), &mut |_| {})
            .await
            .unwrap();
        holder.to_owned()
    }

    fn between<'a>(text: &'a str, before: &str, after: &str) -> &'a str {
        let (_, rest) = text.split_once(before).unwrap();
        rest.split_once(after).unwrap().0
    }

    #[test]
    fn a_locked_database_is_reported_with_the_connection_that_holds_the_lock() {
        let reactor = Reactor::new().unwrap();
        let tls = TlsOptions::default();
        let server = MariaDb::start(&[]);
        server.sql("CREATE DATABASE other");
        let target = |name| mysql::Target::parse(&server.url(name), None, "root", &tls).unwrap();
        let (here, elsewhere) = (target("sbtest"), target("other"));
        let holder = reactor.block_on(excludes::<mysql::Mysql>(&here, &elsewhere));
        holder.unwrap().parse::<u32>().unwrap();
        let server = Postgres::start(&[]);
        server.sql("CREATE DATABASE other");
        let parse = postgres::Target::parse;
        let target = |name| parse(&server.url(name), None, "root", &tls, &|_| None).unwrap();
        let (here, elsewhere) = (target("sbtest"), target("other"));
        let holder = reactor.block_on(excludes::<postgres::Postgres>(&here, &elsewhere));
        holder.unwrap().parse::<u32>().unwrap();
    }
}
