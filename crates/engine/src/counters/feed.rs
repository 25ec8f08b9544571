//! Reads the counters of servers.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use client::reactor::timeout;

use super::Reading;

/// How long connecting to a server, and its reply, may take: less than the second between two
/// readings.
pub(crate) const LIMIT: Duration = Duration::from_millis(800);
/// The first and the maximum delay before a server that failed is asked again.
const PAUSE: Duration = Duration::from_secs(1);
const MAX_PAUSE: Duration = Duration::from_secs(5);

pub(crate) type Asking<'a, T> = Pin<Box<dyn Future<Output = T> + 'a>>;

/// How an engine reads its counters.
pub(crate) trait Source {
    /// Reads all counters, on a connection that it keeps open; `None` if the server refuses or
    /// cannot be reached.
    fn read(&mut self) -> Asking<'_, Option<Reading>>;

    fn leave(&mut self) -> Asking<'_, ()>;
}

pub struct Counters {
    source: Box<dyn Source>,
    /// When to try again, and the delay after the next failure.
    retry: Instant,
    pause: Duration,
}

impl fmt::Debug for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Counters")
    }
}

impl Counters {
    pub(crate) fn new(source: impl Source + 'static) -> Self {
        Self {
            source: Box::new(source),
            retry: Instant::now(),
            pause: PAUSE,
        }
    }

    async fn ask(&mut self) -> Option<Reading> {
        if Instant::now() < self.retry {
            return None;
        }
        let answer = timeout(LIMIT, self.source.read()).await.ok().flatten();
        if answer.is_some() {
            self.pause = PAUSE;
        } else {
            self.retry = Instant::now() + self.pause;
            self.pause = (self.pause * 2).min(MAX_PAUSE);
        }
        answer
    }
}

/// Reads all servers concurrently; `None` for a server that refuses or does not answer in time.
pub async fn ask_all(servers: &mut [Option<Counters>]) -> Vec<Option<Reading>> {
    let mut answers = vec![None; servers.len()];
    let mut asking: Vec<(usize, Asking<'_, Option<Reading>>)> = servers
        .iter_mut()
        .enumerate()
        .filter_map(|(place, server)| {
            let server = server.as_mut()?;
            Some((place, Box::pin(server.ask()) as Asking<'_, _>))
        })
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

/// Closes the connections to all servers, which count unclosed connections as aborted clients.
pub async fn leave_all(servers: &mut [Option<Counters>]) {
    for server in servers.iter_mut().flatten() {
        // A server that does not answer is ignored.
        let _ = timeout(LIMIT, server.source.leave()).await;
    }
}
