//! Counters of servers, and the metrics derived from two readings.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use client::reactor::timeout;
use client::{Connection, Error, Protocol};
use measure::values::{growth, sum};
pub(crate) use measure::values::{percent, quotient};

use crate::network::NetworkEngine;

/// How long connecting to a server, and its reply, may take: less than the second between two
/// readings.
const LIMIT: Duration = Duration::from_millis(800);
/// The first and the maximum delay before a server that failed is asked again.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(5);
/// How far the increase of a server's uptime, in whole seconds, may lag behind the clock.
const AGE_TOLERANCE_S: f64 = 2.0;

/// Metrics by name without the prefix `server.`; `None` if unknown.
pub type Metrics = Vec<(&'static str, Option<f64>)>;

/// The counters of an engine, identified by numbers from 0.
#[derive(Debug)]
pub struct Table {
    pub counters: &'static [Counter],
    /// The counter of seconds since the server's start.
    pub uptime: usize,
    /// Derives metrics from several counters.
    pub derived: fn(&Step) -> Metrics,
}

#[derive(Debug)]
pub struct Counter {
    pub kind: Kind,
    /// How the engine asks for it; empty if it is not asked for by name.
    pub source: &'static str,
    /// The metric that is its rate or level, relative to the server: `cache.misses_per_s`; empty if
    /// there is none.
    pub metric: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Since the server's start.
    Count,
    Level,
}

/// Declares the counters of an engine: key, kind, source, and metric. A function `derived` gives
/// the other metrics.
macro_rules! counters {
    ($($key:ident $kind:ident $source:literal $metric:literal)+) => {
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[allow(dead_code, reason = "most counters are only used by their place in the table")]
        pub(super) enum Key {
            $($key),+
        }

        pub(super) const COUNTERS: &[$crate::counters::Counter] = &[$($crate::counters::Counter {
            kind: $crate::counters::Kind::$kind,
            source: $source,
            metric: $metric,
        }),+];

        static TABLE: $crate::counters::Table = $crate::counters::Table {
            counters: COUNTERS,
            uptime: Key::UptimeS as usize,
            derived,
        };

        impl From<Key> for usize {
            fn from(key: Key) -> Self {
                key as Self
            }
        }
    };
}
pub(crate) use counters;

/// A server's counters at one instant; `None` for counters that it does not have.
#[derive(Debug, Clone)]
pub struct Reading {
    table: &'static Table,
    at: Instant,
    values: Box<[Option<u64>]>,
}

impl Reading {
    pub(crate) fn new(table: &'static Table, at: Instant) -> Self {
        Self {
            table,
            at,
            values: vec![None; table.counters.len()].into(),
        }
    }

    pub(crate) fn get(&self, counter: impl Into<usize>) -> Option<u64> {
        self.values[counter.into()]
    }

    pub(crate) fn set(&mut self, counter: impl Into<usize>, value: Option<u64>) {
        self.values[counter.into()] = value;
    }
}

/// The difference between two readings, of one server or summed over several: counters per second,
/// and levels at the end.
#[derive(Debug, Clone)]
pub struct Step {
    table: &'static Table,
    values: Box<[Option<f64>]>,
}

/// `None` if the server was restarted in between.
pub fn derive(before: &Reading, after: &Reading) -> Option<Step> {
    let seconds = after.at.checked_duration_since(before.at)?.as_secs_f64();
    if was_restarted(before, after, seconds) || seconds <= 0.0 {
        return None;
    }
    let table = after.table;
    let value = |(place, counter): (usize, &Counter)| {
        let later = after.get(place)?;
        match counter.kind {
            Kind::Level => Some(later as f64),
            Kind::Count => Some(growth(before.get(place)?, later)? / seconds),
        }
    };
    Some(Step {
        table,
        values: table.counters.iter().enumerate().map(value).collect(),
    })
}

/// A restarted server's uptime is too short, while its counters may already exceed the earlier
/// ones.
fn was_restarted(before: &Reading, after: &Reading, seconds: f64) -> bool {
    let uptime = after.table.uptime;
    let ages = before.get(uptime).zip(after.get(uptime));
    ages.is_some_and(|(before, after)| (after as f64) + AGE_TOLERANCE_S < before as f64 + seconds)
}

impl Step {
    pub(crate) fn get(&self, counter: impl Into<usize>) -> Option<f64> {
        self.values[counter.into()]
    }

    /// Adds the step of another server of the same engine.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.values.iter_mut().zip(&other.values) {
            *mine = sum(*mine, *theirs);
        }
    }

    /// The metrics, named relative to the server: `cache.hit_pct`.
    pub fn metrics(&self) -> Metrics {
        let counters = self.table.counters.iter().zip(&self.values);
        let plain = counters.map(|(counter, value)| (counter.metric, *value));
        let plain = plain.filter(|(metric, _)| !metric.is_empty());
        plain.chain((self.table.derived)(self)).collect()
    }
}

/// A server's pending answer.
pub type Asking<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// How an engine reads its counters on a connection.
pub(crate) trait Feed<P: Protocol>: Default + 'static {
    /// Prepares a new connection.
    async fn begin(&mut self, connection: &mut Connection<P>) -> Result<(), Error>;

    async fn read(&mut self, connection: &mut Connection<P>) -> Result<Reading, Error>;
}

/// The counters of a server of any protocol.
pub trait Counters {
    /// `None` if the server refuses, cannot be reached, or does not answer in time.
    fn ask(&mut self) -> Asking<'_, Option<Reading>>;

    fn leave(&mut self) -> Asking<'_, ()>;
}

/// A server, and the connection to it that stays open.
pub(crate) struct Source<P: NetworkEngine> {
    target: Arc<P::Target>,
    pub(crate) connection: Option<Connection<P>>,
    pub(crate) feed: P::Feed,
    /// When to try again, and the delay after the next failure.
    retry: Instant,
    pause: Duration,
}

impl<P: NetworkEngine> Source<P> {
    pub(crate) fn new(target: Arc<P::Target>) -> Self {
        Self {
            target,
            connection: None,
            feed: P::Feed::default(),
            retry: Instant::now(),
            pause: PAUSE,
        }
    }

    /// A connection that fails during a reply is useless, so it is put back only after a complete
    /// one.
    pub(crate) async fn read(&mut self) -> Result<Reading, Error> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let mut connection = Connection::<P>::open_within(LIMIT, &*self.target).await?;
                self.feed.begin(&mut connection).await?;
                connection
            }
        };
        let reading = self.feed.read(&mut connection).await?;
        self.connection = Some(connection);
        Ok(reading)
    }
}

impl<P: NetworkEngine> Counters for Source<P> {
    fn ask(&mut self) -> Asking<'_, Option<Reading>> {
        Box::pin(async {
            if Instant::now() < self.retry {
                return None;
            }
            let answer = timeout(LIMIT, self.read()).await.and_then(Result::ok);
            if answer.is_some() {
                self.pause = PAUSE;
            } else {
                self.retry = Instant::now() + self.pause;
                self.pause = (self.pause * 2).min(MAX_PAUSE);
            }
            answer
        })
    }

    fn leave(&mut self) -> Asking<'_, ()> {
        Box::pin(async {
            if let Some(connection) = self.connection.take() {
                connection.close().await;
            }
        })
    }
}

/// Reads all servers concurrently; `None` for a server that refuses or does not answer in time.
pub async fn ask_all(servers: &mut [Option<Box<dyn Counters>>]) -> Vec<Option<Reading>> {
    let mut answers = vec![None; servers.len()];
    let mut asking: Vec<Asking<'_, ()>> = Vec::new();
    for (server, answer) in servers.iter_mut().zip(&mut answers) {
        if let Some(server) = server {
            asking.push(Box::pin(async move { *answer = server.ask().await }));
        }
    }
    std::future::poll_fn(|context| {
        asking.retain_mut(|question| question.as_mut().poll(context).is_pending());
        match asking.is_empty() {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    })
    .await;
    drop(asking);
    answers
}

/// Closes the connections to all servers, which count unclosed connections as aborted clients.
pub async fn leave_all(servers: &mut [Option<Box<dyn Counters>>]) {
    for server in servers.iter_mut().flatten() {
        // A server that does not answer is ignored.
        let _ = timeout(LIMIT, server.leave()).await;
    }
}
