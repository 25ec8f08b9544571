//! The connection on which a server's counters are read.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::postgres::{Connection, Error, Postgres, Target};

use super::counters::{Key, TABLE, WAITS, query};
use crate::counters::{Asking, LIMIT, Reading, Source};
use crate::network::NetworkEngine;
use crate::version;

/// A server and the connection to it.
pub(super) struct Feed {
    target: Arc<Target>,
    open: Option<Open>,
    /// Milliseconds that sessions have waited, for each of [`WAITS`].
    waited_ms: [u64; WAITS.len()],
}

struct Open {
    connection: Connection,
    /// The counters in the columns of the reply.
    counters: Vec<usize>,
    /// Size of the database's tables when the connection was opened.
    data_bytes: Option<u64>,
    asked: Instant,
}

impl Source for Feed {
    fn read(&mut self) -> Asking<'_, Option<Reading>> {
        Box::pin(async { self.try_to_ask().await.ok() })
    }

    fn leave(&mut self) -> Asking<'_, ()> {
        Box::pin(async {
            if let Some(open) = self.open.take() {
                open.connection.close().await;
            }
        })
    }
}

impl Feed {
    pub(super) fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            open: None,
            waited_ms: [0; WAITS.len()],
        }
    }

    /// A connection that fails during a reply is useless, so it is put back only after a complete
    /// one.
    async fn try_to_ask(&mut self) -> Result<Reading, Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::new(&self.target).await?,
        };
        let rows = open.connection.rows("EXECUTE dyno_counters").await?;
        let now = Instant::now();
        let mut reading = Reading::new(&TABLE, now);
        let row = rows.first().into_iter().flatten();
        for (counter, cell) in open.counters.iter().zip(row) {
            let value = cell.as_deref().and_then(|text| text.parse().ok());
            reading.set(*counter, value);
        }
        reading.set(Key::DataSetBytes, open.data_bytes);
        self.add_waits(&mut reading, now.duration_since(open.asked));
        open.asked = now;
        self.open = Some(open);
        Ok(reading)
    }

    /// The server does not count how long sessions wait: those that are waiting now are assumed to
    /// have waited since the last query.
    fn add_waits(&mut self, reading: &mut Reading, since: Duration) {
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        for ((sessions, sum), waited_ms) in WAITS.iter().zip(&mut self.waited_ms) {
            let waiting = reading.get(*sessions);
            *waited_ms = waited_ms.saturating_add(waiting.unwrap_or(0).saturating_mul(ms));
            reading.set(*sum, waiting.map(|_| *waited_ms));
        }
    }
}

impl Open {
    async fn new(target: &Target) -> Result<Self, Error> {
        let mut connection = Connection::open_within(LIMIT, target).await?;
        let size = connection.rows(Postgres::SIZE_QUERY).await?;
        let size = size.into_iter().flatten().flatten().next();
        let (sql, counters) = query(version::major(connection.server_version()));
        // Planning takes longer than the answer.
        let prepare = format!("PREPARE dyno_counters AS {sql}");
        connection.rows(&prepare).await?;
        Ok(Self {
            connection,
            counters,
            data_bytes: size.and_then(|bytes| bytes.parse().ok()),
            asked: Instant::now(),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use client::TlsOptions;
    use client::reactor::Reactor;
    use testkit::PostgresServer;

    use super::*;

    /// Longer than backends take to publish their counters on a busy machine.
    const PUBLISHED: Duration = Duration::from_secs(60);

    fn feed(server: &PostgresServer, user: &str) -> Feed {
        let url = server.url("sbtest");
        let url = url.replace("root@", &format!("{user}@"));
        let target = Target::parse_with(&url, None, user, &TlsOptions::default(), &|_| None);
        Feed::new(Arc::new(target.unwrap()))
    }

    fn ask(reactor: &Reactor, feed: &mut Feed) -> Reading {
        reactor.block_on(feed.try_to_ask()).unwrap().unwrap()
    }

    /// Asks until `is_so` accepts the reading.
    fn ask_until(reactor: &Reactor, feed: &mut Feed, is_so: impl Fn(&Reading) -> bool) -> Reading {
        let start = Instant::now();
        loop {
            let reading = ask(reactor, feed);
            if is_so(&reading) {
                return reading;
            }
            assert!(start.elapsed() < PUBLISHED, "{reading:?}");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    #[test]
    fn what_is_done_is_counted() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE TABLE t (id serial PRIMARY KEY, c text)");
        let reactor = Reactor::new().unwrap();
        let mut feed = feed(&server, "root");
        let before = ask(&reactor, &mut feed);
        server.sql(
            "INSERT INTO t (c) SELECT repeat('x', 1000) FROM generate_series(1, 1000);\n\
             UPDATE t SET c = 'y' WHERE id <= 100; DELETE FROM t WHERE id > 990; CHECKPOINT",
        );
        let grown = |reading: &Reading, key: Key| Some(reading.get(key)? - before.get(key)?);
        let is_published = |reading: &Reading| grown(reading, Key::RowsInserted) >= Some(1000);
        let after = ask_until(&reactor, &mut feed, is_published);
        let grown = |key| grown(&after, key).unwrap();
        // Catalogs count, too: those of the session that created the table may come late.
        assert!((100..200).contains(&grown(Key::RowsUpdated)));
        assert!((10..110).contains(&grown(Key::RowsDeleted)));
        // The checkpointer publishes the checkpoint and its effects.
        ask_until(&reactor, &mut feed, |reading| {
            reading.get(Key::CheckpointsRequested) > before.get(Key::CheckpointsRequested)
        });
        assert!(grown(Key::Commits) >= 4);
        assert!(grown(Key::LogBytes) > 1000 * 1000);
        let position = &server.sql("SELECT pg_current_wal_lsn() - '0/0'::pg_lsn")[0][0];
        let position: u64 = position.parse().unwrap();
        assert!(after.get(Key::LogBytes).unwrap() <= position);
        assert_eq!(after.get(Key::BufferBytes), Some(16 << 20));
        let size = after.get(Key::DataSetBytes).unwrap();
        assert!(size < 1 << 20, "{size}: as it was when the feed connected");
    }

    #[test]
    fn sessions_that_wait_add_up_to_time() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE TABLE t (id int)");
        let reactor = Reactor::new().unwrap();
        let mut feed = feed(&server, "root");
        ask(&reactor, &mut feed);
        std::thread::scope(|scope| {
            let hold = "BEGIN; LOCK t; SELECT pg_sleep(3); COMMIT";
            scope.spawn(|| server.sql(hold));
            let is_held =
                "SELECT count(*) FROM pg_locks WHERE relation = 't'::regclass AND granted";
            while server.sql(is_held)[0][0] == "0" {
                std::thread::sleep(Duration::from_millis(10));
            }
            scope.spawn(|| server.sql("INSERT INTO t VALUES (1)"));
            let waits = |reading: &Reading| reading.get(Key::WaitForLocks) == Some(1);
            let first = ask_until(&reactor, &mut feed, waits);
            std::thread::sleep(Duration::from_millis(300));
            let second = ask_until(&reactor, &mut feed, waits);
            let ms = |reading: &Reading| reading.get(Key::LockMs).unwrap();
            assert!(ms(&second) >= ms(&first) + 300, "{first:?} {second:?}");
        });
    }

    #[test]
    fn an_account_without_rights_reads_all_of_it() {
        let server = testkit::Postgres::start(&[]);
        server.sql("CREATE ROLE guest LOGIN");
        let reactor = Reactor::new().unwrap();
        let reading = ask(&reactor, &mut feed(&server, "guest"));
        let keys = query(version::major(&server.sql("SHOW server_version")[0][0])).1;
        // Without a table there are no dead rows, and without a cluster no replication.
        let absent = [
            Key::DeadRows,
            Key::Replicas,
            Key::ReplicationLagBytes,
            Key::ApplyQueueBytes,
            Key::LagMs,
            Key::IsPrimary,
        ];
        let absent = absent.map(usize::from);
        let known = keys.iter().filter(|key| !absent.contains(key));
        for key in known {
            assert!(reading.get(*key).is_some(), "{key:?}");
        }
    }
}
