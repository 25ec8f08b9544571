//! The connection on which a server is asked for its counters.

use std::sync::Arc;
use std::time::{Duration, Instant};

use client::postgres::{Connection, Error, Target};

use super::counters::{Key, SIZE_QUERY, TABLE, WAITS, query};
use crate::counters::{Asking, Reading, Source};

/// How long a server may take to be connected to.
const LIMIT: Duration = Duration::from_millis(800);

/// One server and the connection to it.
pub(super) struct Feed {
    target: Arc<Target>,
    open: Option<Open>,
    /// Milliseconds that sessions have waited, of each of [`WAITS`].
    waited_ms: [u64; WAITS.len()],
}

/// A connection that answers.
struct Open {
    connection: Connection,
    /// What the columns of an answer are.
    keys: Vec<Key>,
    /// Of the database's tables, when connected.
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

    /// A connection that fails in the middle of a reply is of no more use: it is put back only
    /// after a whole one.
    async fn try_to_ask(&mut self) -> Result<Reading, Error> {
        let mut open = match self.open.take() {
            Some(open) => open,
            None => Open::new(&self.target).await?,
        };
        let rows = open.connection.rows("EXECUTE dyno_counters").await?;
        let now = Instant::now();
        let mut reading = Reading::new(&TABLE, now);
        let row = rows.first().into_iter().flatten();
        for (key, cell) in open.keys.iter().zip(row) {
            let value = cell.as_deref().and_then(|text| text.parse().ok());
            reading.set(*key as usize, value);
        }
        reading.set(Key::DataSetBytes as usize, open.data_bytes);
        self.add_waits(&mut reading, now.duration_since(open.asked));
        open.asked = now;
        self.open = Some(open);
        Ok(reading)
    }

    /// The server counts no time that sessions wait; how many of them do is taken to hold since
    /// it was last asked.
    fn add_waits(&mut self, reading: &mut Reading, since: Duration) {
        let ms = u64::try_from(since.as_millis()).unwrap_or(u64::MAX);
        for ((sessions, sum), waited_ms) in WAITS.iter().zip(&mut self.waited_ms) {
            let waiting = reading.get(*sessions as usize);
            *waited_ms = waited_ms.saturating_add(waiting.unwrap_or(0).saturating_mul(ms));
            reading.set(*sum as usize, waiting.map(|_| *waited_ms));
        }
    }
}

impl Open {
    async fn new(target: &Target) -> Result<Self, Error> {
        let mut connection = Connection::open_within(LIMIT, target).await?;
        let size = connection.rows(SIZE_QUERY).await?;
        let size = size.into_iter().flatten().flatten().next();
        let (sql, keys) = query(major(connection.server_version()));
        // Planning takes longer than the answer.
        let prepare = format!("PREPARE dyno_counters AS {sql}");
        connection.rows(&prepare).await?;
        Ok(Self {
            connection,
            keys,
            data_bytes: size.and_then(|bytes| bytes.parse().ok()),
            asked: Instant::now(),
        })
    }
}

/// `15` of `15.10 (Debian 15.10-0+deb12u1)` or `18beta1`.
fn major(version: &str) -> u32 {
    let end = version.find(|c: char| !c.is_ascii_digit());
    version[..end.unwrap_or(version.len())].parse().unwrap_or(0)
}
