//! The connections on which servers are asked.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use client::mysql::{Connection, Error, Target};
use client::reactor::timeout;

use super::{Key, Raw, Row, status_query};

/// How long a server may take to be connected to and to answer: less than the second
/// until it is asked again.
const LIMIT: Duration = Duration::from_millis(800);
/// How long a server that failed is left alone, at first and at most.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(30);

/// The length of MySQL's history is no status variable.
const HISTORY_QUERY: &str = "SELECT count FROM information_schema.INNODB_METRICS \
     WHERE name = 'trx_rseg_history_len' AND status = 'enabled'";

/// One server and the connection to it.
pub(in crate::monitors) struct Feed {
    target: Arc<Target>,
    query: String,
    connection: Option<Connection>,
    /// Whether the account may read the engine's own tables.
    may_read_metrics: bool,
    /// Size of the database's tables and of the buffer pool, when first connected.
    sizes: [Option<u64>; 2],
    /// When to try again, and how long to wait after that.
    retry: Instant,
    pause: Duration,
}

/// Asks all servers at the same time; one that does not answer in time, or refuses,
/// is absent.
pub(in crate::monitors) async fn ask_all(feeds: &mut [Option<Feed>]) -> Vec<Option<Raw>> {
    type Asking<'a> = Pin<Box<dyn Future<Output = Option<Raw>> + 'a>>;
    let mut answers = vec![None; feeds.len()];
    let mut asking: Vec<(usize, Asking<'_>)> = feeds
        .iter_mut()
        .enumerate()
        .filter_map(|(place, feed)| Some((place, Box::pin(feed.as_mut()?.ask()) as Asking<'_>)))
        .collect();
    std::future::poll_fn(|context| {
        asking.retain_mut(|(place, question)| match question.as_mut().poll(context) {
            Poll::Ready(answer) => {
                answers[*place] = answer;
                false
            }
            Poll::Pending => true,
        });
        match asking.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    answers
}

/// Says goodbye to all servers: one that loses a connection without a word counts it
/// among its aborted clients.
pub(in crate::monitors) async fn leave_all(feeds: &mut [Option<Feed>]) {
    for feed in feeds.iter_mut().flatten() {
        if let Some(connection) = feed.connection.take() {
            // One that does not answer any more is left all the same.
            let _ = timeout(LIMIT, connection.close()).await;
        }
    }
}

impl Feed {
    pub(in crate::monitors) fn new(target: Arc<Target>) -> Self {
        Self {
            target,
            query: status_query(),
            connection: None,
            may_read_metrics: true,
            sizes: [None; 2],
            retry: Instant::now(),
            pause: PAUSE,
        }
    }

    async fn ask(&mut self) -> Option<Raw> {
        if self.connection.is_none() && Instant::now() < self.retry {
            return None;
        }
        // A connection that fails in the middle of a reply is of no use any more: it
        // is put back only after a whole one.
        let answer = timeout(LIMIT, self.try_to_ask()).await;
        match answer {
            Ok(Ok(raw)) => {
                self.pause = PAUSE;
                Some(raw)
            }
            Ok(Err(_)) | Err(_) => {
                self.retry = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(MAX_PAUSE);
                None
            }
        }
    }

    async fn try_to_ask(&mut self) -> Result<Raw, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => self.connect().await?,
        };
        let rows = connection.rows(&self.query).await?;
        let mut raw = Raw::new(Instant::now());
        raw.take_status(&rows);
        if !connection.is_mariadb() && self.may_read_metrics {
            let rows = allowed(connection.rows(HISTORY_QUERY).await)?;
            self.may_read_metrics = rows.is_some();
            raw.set(Key::HistoryLength, rows.as_deref().and_then(number));
        }
        let [data, pool] = self.sizes;
        raw.set(Key::DataSetBytes, data);
        raw.set(Key::PoolBytes, pool);
        self.connection = Some(connection);
        Ok(raw)
    }

    async fn connect(&mut self) -> Result<Connection, Error> {
        let mut connection = Connection::open_within(LIMIT, &self.target).await?;
        let table = match connection.is_mariadb() {
            true => "INNODB_SYS_TABLESPACES",
            false => "INNODB_TABLESPACES",
        };
        // Of the files: what information_schema.TABLES says may be old.
        let data = format!(
            "SELECT CAST(SUM(file_size) AS UNSIGNED) FROM information_schema.{table} \
             WHERE SUBSTRING_INDEX(name, '/', 1) = DATABASE()"
        );
        for (size, sql) in self
            .sizes
            .iter_mut()
            .zip([data.as_str(), "SELECT @@innodb_buffer_pool_size"])
        {
            let rows = allowed(connection.rows(sql).await)?;
            *size = rows.as_deref().and_then(number);
        }
        Ok(connection)
    }
}

/// What the server refuses to tell is absent; any other failure is one.
fn allowed<T>(answer: Result<T, Error>) -> Result<Option<T>, Error> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Statement { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// The one number of an answer.
fn number(rows: &[Row]) -> Option<u64> {
    rows.first()?.first()?.as_deref()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use client::mysql::TlsOptions;
    use client::reactor::Reactor;
    use testkit::{MariaDb, MySql, Server};

    use super::super::NAMES;
    use super::*;

    /// The server's own words, by its own client.
    fn status(server: &Server) -> BTreeMap<String, u64> {
        let rows = server.sql("SHOW GLOBAL STATUS").into_iter();
        rows.filter_map(|row| Some((row[0].to_lowercase(), row.get(1)?.parse().ok()?)))
            .collect()
    }

    /// Every counter that is read lies between what the server said before and after.
    fn check(server: &Server) {
        let target = Target::parse(&server.url("sbtest"), None, "root", &TlsOptions::default());
        let mut feed = Feed::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        reactor.block_on(feed.ask()).unwrap().unwrap();
        assert_eq!(feed.sizes[0], None, "there is no table yet");
        server.sql("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, c CHAR(200))");
        for _ in 0..2 {
            server.sql(&"INSERT INTO t (c) VALUES (REPEAT('x', 200));".repeat(50));
            let before = status(server);
            let raw = reactor.block_on(feed.ask()).unwrap().unwrap();
            let after = status(server);
            for (name, key) in NAMES {
                let name = name.to_lowercase();
                let value = raw.get(key);
                if !before.contains_key(&name) {
                    let elsewhere = matches!(key, Key::CheckpointAgeBytes | Key::HistoryLength);
                    assert!(value.is_none() || elsewhere, "{name}");
                } else if key.is_level() {
                    assert!(value.is_some(), "{name}");
                } else {
                    let value = value.unwrap();
                    assert!(before[&name] <= value && value <= after[&name], "{name}");
                }
            }
            assert_eq!(raw.get(Key::PoolBytes), Some(64 << 20));
            assert!(raw.get(Key::HistoryLength).is_some());
            assert!(raw.get(Key::CheckpointAgeBytes).is_some());
        }
        // The table, and nothing of the server's own.
        feed.connection = None;
        let raw = reactor.block_on(feed.ask()).unwrap().unwrap();
        let size = raw.get(Key::DataSetBytes).unwrap();
        assert!((16 << 10..=4 << 20).contains(&size), "{size}");
    }

    #[test]
    fn what_is_read_is_what_the_server_says() {
        check(&MariaDb::start(&["--innodb-buffer-pool-size=64M"]));
        check(&MySql::start(&["--innodb-buffer-pool-size=64M"]));
    }

    #[test]
    fn an_account_without_rights_reads_what_it_may() {
        let server = MySql::start(&[]);
        server.sql("CREATE USER u@'%'; GRANT SELECT ON sbtest.* TO u@'%'");
        let url = format!("mysql://u@127.0.0.1:{}/sbtest", server.port());
        let target = Target::parse(&url, None, "u", &TlsOptions::default());
        let mut feed = Feed::new(Arc::new(target.unwrap()));
        let reactor = Reactor::new().unwrap();
        for _ in 0..2 {
            let raw = reactor.block_on(feed.ask()).unwrap().unwrap();
            assert!(raw.get(Key::DataReads).is_some());
            assert_eq!(raw.get(Key::HistoryLength), None);
        }
    }
}
