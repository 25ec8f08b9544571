//! Delivers the reports of a load's agents in order and without loss: an agent numbers the parts of its
//! reports and keeps each one until the coordinator has it, whatever happens to the nats-server.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_nats::jetstream;
use futures_util::StreamExt;
use futures_util::future::try_join_all;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::connection::{Connection, STORE_LIMIT, Task, consumer, locked};
use crate::message::{STREAM, reports_of};

/// Maximum size of a part; a longer report is split.
const PART_BYTES: usize = 128 << 10;
/// More than a second's report needs; a longer one is discarded.
const MAX_REPORT_BYTES: usize = 64 << 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// How often to look whether the coordinator has everything.
const FINISH_INTERVAL: Duration = Duration::from_millis(20);
/// How long a request for messages waits for some, and how often the nats-server says meanwhile that
/// it is still there.
const PULL_TIME: Duration = Duration::from_secs(5);
const HEARTBEAT: Duration = Duration::from_secs(1);
const PARTS_AT_ONCE: usize = 16;
/// Maximum number of an agent's parts that wait for an earlier one.
const MAX_EARLY: usize = 1000;

/// The agent's side.
pub(crate) struct Reporter {
    outbox: Arc<Outbox>,
    /// Maximum size of a part in bytes.
    limit: usize,
    _task: Task,
}

/// The parts that the coordinator may not have yet.
#[derive(Default)]
struct Outbox {
    kept: Mutex<Kept>,
    added: Notify,
}

#[derive(Default)]
struct Kept {
    /// The number of each part, oldest first, and its message: the number, whether the report ends
    /// with it, and its bytes.
    parts: VecDeque<(u64, Vec<u8>)>,
    /// The number of the newest part.
    last: u64,
}

impl Reporter {
    pub(crate) fn new(connection: &Connection, subject: String) -> Self {
        let outbox = Arc::new(Outbox::default());
        let task = send(connection.clone(), subject, Arc::clone(&outbox));
        Self {
            // Leaves room for what NATS adds.
            limit: PART_BYTES.min(connection.client().max_payload() / 2).max(1),
            outbox,
            _task: connection.spawn(task),
        }
    }

    pub(crate) fn report(&self, report: &[u8]) {
        let mut kept = locked(&self.outbox.kept);
        let mut parts = report.chunks(self.limit).peekable();
        while let Some(part) = parts.next() {
            kept.last += 1;
            let number = kept.last;
            let is_end = [u8::from(parts.peek().is_none())];
            let message = [&number.to_be_bytes(), &is_end[..], part].concat();
            kept.parts.push_back((number, message));
        }
        self.outbox.added.notify_one();
    }

    /// The coordinator has all parts up to this one.
    pub(crate) fn received(&self, last: u64) {
        let mut kept = locked(&self.outbox.kept);
        let count = kept.parts.partition_point(|(number, _)| *number <= last);
        kept.parts.drain(..count);
    }

    /// Waits until the coordinator has everything, or until `gives_up`.
    pub(crate) fn finish(&self, gives_up: impl Fn() -> bool) {
        while !locked(&self.outbox.kept).parts.is_empty() && !gives_up() {
            std::thread::sleep(FINISH_INTERVAL);
        }
    }
}

/// Sends new parts, and resends all that are kept after each reconnection: a nats-server that was killed
/// may have lost what it had stored.
async fn send(connection: Connection, subject: String, outbox: Arc<Outbox>) {
    let (mut sent, mut connects) = (0, connection.connects());
    loop {
        if connects != connection.connects() {
            (sent, connects) = (0, connection.connects());
        }
        let new: Vec<_> = {
            let kept = locked(&outbox.kept);
            let new = kept.parts.iter().filter(|(number, _)| *number > sent);
            new.take(PARTS_AT_ONCE).cloned().collect()
        };
        let Some(last) = new.last().map(|(number, _)| *number) else {
            drop(timeout(RETRY_INTERVAL, outbox.added.notified()).await);
            continue;
        };
        let store = |(_, message)| store(connection.streams(), subject.clone(), message);
        let stored = try_join_all(new.into_iter().map(store));
        match timeout(STORE_LIMIT, stored).await {
            Ok(Ok(_)) => sent = last,
            Ok(Err(_)) | Err(_) => sleep(RETRY_INTERVAL).await,
        }
    }
}

async fn store(
    streams: &jetstream::Context,
    subject: String,
    message: Vec<u8>,
) -> Result<(), jetstream::context::PublishError> {
    let sent = streams.publish(subject, message.into());
    sent.await?.await.map(drop)
}

/// The coordinator's side: receives the messages of all agents.
pub(crate) struct Inbox {
    connection: Connection,
    messages: Receiver<jetstream::Message>,
    consumer: String,
    _task: Task,
}

/// Puts the parts of an agent's reports in order.
#[derive(Default)]
pub(crate) struct Sequence {
    /// The number of the last part that was passed on.
    pub(crate) last: u64,
    early: BTreeMap<u64, (Vec<u8>, Receipt)>,
    /// The beginning of a report that has not arrived completely.
    begun: Vec<u8>,
}

/// A part of a report, in order.
pub struct Part {
    /// The whole report, if this is its last part.
    pub report: Option<Vec<u8>>,
    pub receipt: Receipt,
}

/// To be called once a part is stored, so that the nats-server forgets it.
pub type Receipt = Box<dyn FnOnce() + Send>;

impl Inbox {
    pub(crate) fn open(connection: &Connection, run: &str, load: u32) -> Self {
        let (sender, messages) = channel();
        let subjects = reports_of(run, load, "*");
        let name = format!("dyno-{run}-{load}");
        let task = pull(connection.clone(), name.clone(), subjects, sender);
        Self {
            connection: connection.clone(),
            messages,
            consumer: name,
            _task: connection.spawn(task),
        }
    }

    /// The next message, with the ID of the agent that sent it.
    pub(crate) fn next(&self, limit: Duration) -> Option<(String, Vec<u8>, Receipt)> {
        let message = self.messages.recv_timeout(limit).ok()?;
        let (message, acker) = message.split();
        let connection = self.connection.clone();
        let receipt = move || connection.detach(async move { drop(acker.ack().await) });
        let agent = message.subject.rsplit('.').next()?;
        Some((agent.to_owned(), message.payload.into(), Box::new(receipt)))
    }
}

impl Sequence {
    /// Takes a message; returns the parts that can be passed on now.
    pub(crate) fn add(&mut self, message: &[u8], receipt: Receipt) -> Vec<Part> {
        let numbered = message.split_first_chunk();
        let numbered = numbered.map(|(number, part)| (u64::from_be_bytes(*number), part));
        let Some((number, part)) = numbered.filter(|(number, _)| *number > self.last) else {
            receipt();
            return Vec::new();
        };
        // Without its receipt, it comes again later.
        if number > self.last + 1 && self.early.len() >= MAX_EARLY {
            return Vec::new();
        }
        self.early.insert(number, (part.to_vec(), receipt));
        let mut parts = Vec::new();
        while let Some((part, receipt)) = self.early.remove(&(self.last + 1)) {
            self.last += 1;
            let report = self.report(&part);
            parts.push(Part { report, receipt });
        }
        parts
    }

    /// Appends a part; returns the report once it is complete.
    fn report(&mut self, part: &[u8]) -> Option<Vec<u8>> {
        let (is_end, bytes) = part.split_first()?;
        self.begun.extend(bytes);
        if self.begun.len() > MAX_REPORT_BYTES {
            self.begun.clear();
        }
        (*is_end != 0).then(|| std::mem::take(&mut self.begun))
    }
}

impl Drop for Inbox {
    fn drop(&mut self) {
        let (streams, name) = (self.connection.streams().clone(), self.consumer.clone());
        self.connection.detach(async move {
            drop(streams.delete_consumer_from_stream(name, STREAM).await);
        });
    }
}

/// Passes messages on as long as somebody takes them.
async fn pull(
    connection: Connection,
    name: String,
    subjects: String,
    sender: Sender<jetstream::Message>,
) {
    loop {
        if let Ok(consumer) = consumer(connection.streams(), &name, &subjects).await
            && let stream = consumer.stream().expires(PULL_TIME).heartbeat(HEARTBEAT)
            && let Ok(mut messages) = stream.messages().await
        {
            while let Some(Ok(message)) = messages.next().await {
                if sender.send(message).is_err() {
                    return;
                }
            }
        }
        sleep(RETRY_INTERVAL).await;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn message(number: u64, is_end: u8, byte: u8) -> Vec<u8> {
        [&number.to_be_bytes()[..], &[is_end, byte]].concat()
    }

    #[test]
    fn parts_are_put_in_order_and_repeated_ones_are_forgotten() {
        let mut parts = Sequence::default();
        let mut add = |message: &[u8]| {
            let stored = Arc::new(Mutex::new(false));
            let told = Arc::clone(&stored);
            let next = parts.add(message, Box::new(move || *locked(&told) = true));
            let next: Vec<_> = next.into_iter().map(|part| part.report).collect();
            (next, *locked(&stored))
        };
        assert_eq!(add(&message(2, 1, b'b')), (vec![], false));
        let both = vec![None, Some(b"ab".to_vec())];
        assert_eq!(add(&message(1, 0, b'a')), (both, false));
        assert_eq!(add(&message(2, 1, b'b')), (vec![], true));
        assert_eq!(add(b"short"), (vec![], true));
        assert_eq!(
            add(&message(3, 1, b'c')),
            (vec![Some(b"c".to_vec())], false)
        );
    }

    #[test]
    fn a_report_without_an_end_is_not_kept() {
        let mut parts = Sequence {
            begun: vec![0; MAX_REPORT_BYTES],
            ..Sequence::default()
        };
        assert_eq!(parts.report(&[0, 1]), None);
        assert!(parts.begun.is_empty());
    }
}
