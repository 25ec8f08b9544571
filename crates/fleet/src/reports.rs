//! What the agents of a load report, in order and without a loss: an agent numbers its batches and
//! keeps each one until the coordinator has it, whatever happens to the nats-server in between.

use std::collections::{BTreeMap, VecDeque};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use async_nats::jetstream::message::{Acker, PublishMessage};
use futures_util::StreamExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::{sleep, timeout};

use crate::connection::{Connection, STORE_LIMIT, Task, consumer, locked};
use crate::message::{STREAM, reports_of};

/// Reports are sent in batches of up to about this size; a larger report takes several.
const BATCH_BYTES: usize = 128 << 10;
/// More than a second's report needs; a longer one is discarded.
const MAX_REPORT_BYTES: usize = 64 << 20;
const RETRY_INTERVAL: Duration = Duration::from_millis(200);
/// How long a request for messages waits for some.
const PULL_TIME: Duration = Duration::from_secs(2);
const PULL_MESSAGES: usize = 64;
/// Most batches of an agent that wait for an earlier one.
const MAX_EARLY: usize = 1000;
const LENGTH_BYTES: usize = 4;

/// The agent's side.
pub(crate) struct Reporter {
    items: UnboundedSender<Item>,
    kept: Arc<Kept>,
    _task: Task,
}

enum Item {
    Report(Vec<u8>),
    /// The coordinator has all batches up to this one.
    Received(u64),
}

/// How many reports and batches the coordinator may not have yet.
#[derive(Default)]
struct Kept {
    count: Mutex<usize>,
    changed: Condvar,
}

impl Kept {
    fn remove(&self, count: usize) {
        *locked(&self.count) -= count;
        self.changed.notify_all();
    }
}

impl Reporter {
    pub(crate) fn new(connection: &Connection, subject: String) -> Self {
        let (items, queue) = unbounded_channel();
        let kept = Arc::new(Kept::default());
        let sender = BatchSender {
            streams: connection.streams().clone(),
            subject,
            // Leaves room for what NATS adds.
            limit: BATCH_BYTES
                .min(connection.client().max_payload() / 2)
                .max(1),
            kept: VecDeque::new(),
            number: 0,
            count: Arc::clone(&kept),
        };
        let connects = connection.connects();
        Self {
            items,
            kept,
            _task: connection.spawn(sender.run(queue, connects)),
        }
    }

    pub(crate) fn report(&self, report: Vec<u8>) {
        *locked(&self.kept.count) += 1;
        if self.items.send(Item::Report(report)).is_err() {
            self.kept.remove(1);
        }
    }

    pub(crate) fn received(&self, number: u64) {
        drop(self.items.send(Item::Received(number)));
    }

    /// Waits until the coordinator has everything, or until `gives_up`.
    pub(crate) fn finish(&self, gives_up: impl Fn() -> bool) {
        let mut count = locked(&self.kept.count);
        while *count > 0 && !gives_up() {
            let waited = self.kept.changed.wait_timeout(count, RETRY_INTERVAL);
            count = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

struct BatchSender {
    streams: async_nats::jetstream::Context,
    subject: String,
    /// Maximum size of a batch in bytes.
    limit: usize,
    /// For each batch, oldest first: its number, how many reports end in it, and its bytes.
    kept: VecDeque<(u64, usize, Vec<u8>)>,
    number: u64,
    count: Arc<Kept>,
}

impl BatchSender {
    async fn run(mut self, mut queue: UnboundedReceiver<Item>, connects: impl Fn() -> u64) {
        let mut connected = connects();
        while let Some(item) = queue.recv().await {
            let mut next = Some(item);
            let mut batch = Vec::new();
            let mut reports = 0;
            let mut received = None;
            while let Some(item) = next {
                match item {
                    Item::Report(report) => {
                        batch.extend_from_slice(&(report.len() as u32).to_be_bytes());
                        batch.extend_from_slice(&report);
                        reports += 1;
                    }
                    Item::Received(number) => received = Some(number),
                }
                next = match batch.len() < BATCH_BYTES {
                    true => queue.try_recv().ok(),
                    false => None,
                };
            }
            if let Some(received) = received {
                self.forget(received);
                // A nats-server that was killed may have lost what it had accepted.
                if connected != connects() {
                    connected = connects();
                    for (number, _, batch) in self.kept.clone() {
                        self.publish(number, &batch).await;
                    }
                }
            }
            let mut parts = batch.chunks(self.limit).peekable();
            while let Some(part) = parts.next() {
                self.number += 1;
                let numbered = [&self.number.to_be_bytes(), part].concat();
                self.publish(self.number, &numbered).await;
                let whole = if parts.peek().is_none() { reports } else { 0 };
                self.kept.push_back((self.number, whole, numbered));
            }
        }
    }

    fn forget(&mut self, received: u64) {
        while let Some((number, reports, _)) = self.kept.front()
            && *number <= received
        {
            self.count.remove(*reports);
            self.kept.pop_front();
        }
    }

    /// Returns once the server has it.
    async fn publish(&self, number: u64, batch: &[u8]) {
        loop {
            let message = PublishMessage::build()
                .payload(batch.to_vec().into())
                .message_id(format!("{}.{number}", self.subject));
            let sent = async {
                let sent = self.streams.send_publish(self.subject.clone(), message);
                sent.await?.await
            };
            if let Ok(Ok(_)) = timeout(STORE_LIMIT, sent).await {
                return;
            }
            sleep(RETRY_INTERVAL).await;
        }
    }
}

/// The coordinator's side.
pub(crate) struct Inbox {
    connection: Connection,
    messages: Receiver<Message>,
    agents: Vec<String>,
    next: Vec<Expected>,
    consumer: String,
    _task: Task,
}

struct Message {
    agent: String,
    payload: Vec<u8>,
    acker: Acker,
}

#[derive(Default)]
struct Expected {
    /// The number of the last batch that was passed on.
    last: u64,
    early: BTreeMap<u64, (Vec<u8>, Receipt)>,
    /// The beginning of a report that has not arrived completely.
    begun: Vec<u8>,
}

/// What an agent reports at once.
pub struct Batch {
    /// The index of the agent.
    pub agent: usize,
    pub reports: Vec<Vec<u8>>,
    pub receipt: Receipt,
}

/// Lets the nats-server forget a batch.
pub struct Receipt {
    connection: Connection,
    acker: Acker,
}

impl Receipt {
    /// Called once the batch is stored.
    pub fn stored(self) {
        let acker = self.acker;
        self.connection
            .detach(async move { drop(acker.ack().await) });
    }
}

impl Inbox {
    pub(crate) fn open(connection: &Connection, run: &str, load: u32, agents: Vec<String>) -> Self {
        let (sender, messages) = channel();
        let subjects = reports_of(run, load, "*");
        let name = format!("dyno-{run}-{load}");
        let streams = connection.streams().clone();
        let task = connection.spawn(pull(streams, name.clone(), subjects, sender));
        Self {
            connection: connection.clone(),
            messages,
            next: agents.iter().map(|_| Expected::default()).collect(),
            agents,
            consumer: name,
            _task: task,
        }
    }

    /// The number of the last batch of an agent.
    pub(crate) fn last(&self, agent: usize) -> u64 {
        self.next[agent].last
    }

    /// The next batches, each agent's in order.
    pub(crate) fn next(&mut self, limit: Duration) -> Vec<Batch> {
        let until = Instant::now() + limit;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            match self.messages.recv_timeout(left) {
                Ok(message) => {
                    let batches = self.in_order(message);
                    if !batches.is_empty() {
                        return batches;
                    }
                }
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                    return Vec::new();
                }
            }
        }
    }

    fn in_order(&mut self, message: Message) -> Vec<Batch> {
        let receipt = Receipt {
            connection: self.connection.clone(),
            acker: message.acker,
        };
        let agent = self.agents.iter().position(|id| *id == message.agent);
        let numbered = message.payload.split_first_chunk();
        let (Some(agent), Some((number, sent))) = (agent, numbered) else {
            receipt.stored();
            return Vec::new();
        };
        let number = u64::from_be_bytes(*number);
        let expected = &mut self.next[agent];
        if number <= expected.last {
            receipt.stored();
            return Vec::new();
        }
        // Without its receipt, it comes again later.
        if number > expected.last + 1 && expected.early.len() >= MAX_EARLY {
            return Vec::new();
        }
        expected.early.insert(number, (sent.to_vec(), receipt));
        let mut batches = Vec::new();
        while let Some((sent, receipt)) = expected.early.remove(&(expected.last + 1)) {
            expected.last += 1;
            expected.begun.extend(sent);
            batches.push(Batch {
                agent,
                reports: take_whole(&mut expected.begun),
                receipt,
            });
        }
        batches
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

/// Takes the reports that have arrived completely.
fn take_whole(begun: &mut Vec<u8>) -> Vec<Vec<u8>> {
    let mut reports = Vec::new();
    let mut rest = begun.as_slice();
    while let Some((length, after)) = rest.split_first_chunk::<LENGTH_BYTES>()
        && let length = u32::from_be_bytes(*length) as usize
        && let Some((report, after)) = after.split_at_checked(length)
    {
        reports.push(report.to_vec());
        rest = after;
    }
    begun.drain(..begun.len() - rest.len());
    if begun.len() > MAX_REPORT_BYTES {
        begun.clear();
    }
    reports
}

/// Passes messages on as long as somebody takes them.
async fn pull(
    streams: async_nats::jetstream::Context,
    name: String,
    subjects: String,
    sender: Sender<Message>,
) {
    loop {
        if let Ok(consumer) = consumer(&streams, &name, &subjects).await {
            while let Ok(Ok(mut batch)) = timeout(
                2 * PULL_TIME,
                consumer
                    .batch()
                    .max_messages(PULL_MESSAGES)
                    .expires(PULL_TIME)
                    .messages(),
            )
            .await
            {
                let mut has_failed = false;
                while let Ok(Some(message)) = timeout(2 * PULL_TIME, batch.next()).await {
                    let Ok(message) = message else {
                        has_failed = true;
                        break;
                    };
                    let (message, acker) = message.split();
                    let agent = message.subject.rsplit('.').next().unwrap_or_default();
                    let passed = sender.send(Message {
                        agent: agent.to_owned(),
                        payload: message.payload.into(),
                        acker,
                    });
                    if passed.is_err() {
                        return;
                    }
                }
                if has_failed {
                    break;
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

    #[test]
    fn a_report_is_taken_once_it_is_whole() {
        let sent = [0, 0, 0, 2, b'a', b'b', 0, 0, 0, 0, 0, 0, 0, 1, b'c'];
        for length in 1..=sent.len() {
            let (mut begun, mut reports) = (Vec::new(), Vec::new());
            for part in sent.chunks(length) {
                begun.extend(part);
                reports.extend(take_whole(&mut begun));
            }
            assert_eq!(reports, [b"ab".to_vec(), Vec::new(), b"c".to_vec()]);
            assert!(begun.is_empty());
        }
    }

    #[test]
    fn a_report_without_an_end_is_not_kept() {
        let mut begun = vec![0xff; MAX_REPORT_BYTES + 1];
        assert!(take_whole(&mut begun).is_empty() && begun.is_empty());
    }
}
