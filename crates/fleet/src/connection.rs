//! A connection to a nats-server, for threads: NATS' own types and its event loop end here.

use std::io;
use std::sync::atomic::Ordering;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use async_nats::client::RequestErrorKind;
use async_nats::jetstream::consumer::PullConsumer;
use async_nats::jetstream::{self, consumer, stream};
use async_nats::{Client, ConnectErrorKind, Event};
use futures_util::StreamExt;
use plan::Failure;
use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::access::Access;
use crate::message::{REPORTS, STREAM};

const CONNECT_LIMIT: Duration = Duration::from_secs(3);
/// A connection counts as cut if two pings have no answer when the next one is due.
const PING_INTERVAL: Duration = Duration::from_secs(1);
const RECONNECT_INTERVAL: Duration = Duration::from_millis(100);
/// How long the server may take to store or to create something.
pub(crate) const STORE_LIMIT: Duration = Duration::from_secs(2);
/// How long what nobody takes is kept: of runs that were killed.
const KEPT: Duration = Duration::from_secs(3600);
/// When a part of a report is sent again that was not stored, because it may have been lost on its
/// way. All later ones of its agent wait for it.
const SENT_AGAIN: Duration = Duration::from_secs(10);
/// How long a consumer is kept without its coordinator.
const FORGOTTEN: Duration = Duration::from_secs(60);

/// The event loop of all connections, which has a thread of its own.
static EVENT_LOOP: LazyLock<io::Result<Handle>> = LazyLock::new(|| {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    let run = move || runtime.block_on(std::future::pending::<()>());
    let thread = std::thread::Builder::new().name("dyno-nats".to_owned());
    thread.spawn(run).map(|_| handle)
});

/// Closed when the last copy is dropped.
#[derive(Clone)]
pub(crate) struct Connection {
    runtime: &'static Handle,
    client: Client,
    streams: jetstream::Context,
    up_since: UpSince,
}

/// `None` while there is no connection.
type UpSince = Arc<Mutex<Option<Instant>>>;

/// A task that ends when this is dropped.
pub(crate) struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Connection {
    pub(crate) fn open(access: &Access, name: &str) -> Result<Self, Failure> {
        let up_since = UpSince::default();
        let told = Arc::clone(&up_since);
        let options = access
            .options(name)?
            .connection_timeout(CONNECT_LIMIT)
            .ping_interval(PING_INTERVAL)
            .reconnect_delay_callback(|_| RECONNECT_INTERVAL)
            .event_callback(move |event| {
                match event {
                    Event::Connected => *locked(&told) = Some(Instant::now()),
                    Event::Disconnected | Event::Closed => *locked(&told) = None,
                    _ => {}
                }
                std::future::ready(())
            });
        let runtime = EVENT_LOOP.as_ref().map_err(Failure::internal)?;
        let connected = runtime.block_on(options.connect(access.url.expose()));
        let client = connected.map_err(|error| refused(access, &error))?;
        // The event may come later.
        locked(&up_since).get_or_insert_with(Instant::now);
        // The context spawns a task for acknowledgments.
        let _entered = runtime.enter();
        let streams = jetstream::ContextBuilder::new().timeout(STORE_LIMIT);
        Ok(Self {
            runtime,
            streams: streams.build(client.clone()),
            client,
            up_since,
        })
    }

    /// Since when it has been connected; `None` while it is not.
    pub(crate) fn up_since(&self) -> Option<Instant> {
        *locked(&self.up_since)
    }

    /// How often it was connected.
    pub(crate) fn connects(&self) -> u64 {
        let statistics = self.client.statistics();
        statistics.connects.load(Ordering::Relaxed)
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    pub(crate) fn streams(&self) -> &jetstream::Context {
        &self.streams
    }

    /// Waits for something; never called by a [`Task`].
    pub(crate) fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(self.runtime.spawn(work))
    }

    /// Goes on after the caller has dropped everything.
    pub(crate) fn detach(&self, work: impl Future<Output = ()> + Send + 'static) {
        drop(self.runtime.spawn(work));
    }

    pub(crate) fn publish(&self, subject: String, payload: Vec<u8>) {
        let client = self.client.clone();
        self.detach(async move { drop(client.publish(subject, payload.into()).await) });
    }

    /// Answers requests with what `reply` returns, if it returns something.
    pub(crate) fn answer(
        &self,
        subject: String,
        mut reply: impl FnMut(&[u8]) -> Option<Vec<u8>> + Send + 'static,
    ) -> Result<Task, Failure> {
        let client = self.client.clone();
        let subscribed = self.wait(client.subscribe(subject));
        let mut requests = subscribed.map_err(Failure::server)?;
        Ok(self.spawn(async move {
            while let Some(request) = requests.next().await {
                let answer = reply(&request.payload);
                if let (Some(to), Some(answer)) = (request.reply, answer) {
                    drop(client.publish(to, answer.into()).await);
                }
            }
        }))
    }
}

fn refused(access: &Access, error: &async_nats::ConnectError) -> Failure {
    let url = &access.url;
    let text = error.to_string();
    let remedy = match error.kind() {
        _ if text.contains("certificate") => {
            "name the authority that signed the nats-server's certificate in NATS_CA, and use a host name that it is for"
        }
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            "prove who you are with NATS_CREDS, NATS_NKEY, NATS_CERT and NATS_KEY, or NATS_USER and NATS_PASSWORD"
        }
        ConnectErrorKind::Tls => "check NATS_CA, and that the nats-server offers TLS",
        _ => "check the address, and that a nats-server listens there",
    };
    let message = format!("cannot connect to the nats-server {url}: {error}");
    Failure::server(message).remedy(remedy)
}

pub(crate) async fn ask(
    client: &Client,
    subject: String,
    payload: Vec<u8>,
    limit: Duration,
) -> Result<Vec<u8>, RequestErrorKind> {
    match timeout(limit, client.request(subject, payload.into())).await {
        Ok(Ok(reply)) => Ok(reply.payload.into()),
        Ok(Err(error)) => Err(error.kind()),
        Err(_) => Err(RequestErrorKind::TimedOut),
    }
}

/// Makes the stream for reports if there is none.
pub(crate) async fn make_stream(
    streams: &jetstream::Context,
) -> Result<(), jetstream::context::CreateStreamError> {
    let config = stream::Config {
        name: STREAM.to_owned(),
        subjects: vec![REPORTS.to_owned()],
        retention: stream::RetentionPolicy::WorkQueue,
        storage: stream::StorageType::File,
        max_age: KEPT,
        ..stream::Config::default()
    };
    streams.get_or_create_stream(config).await.map(drop)
}

/// The messages of the stream with these subjects, each until it is acknowledged. A nats-server that
/// lost its stream gets a new one.
pub(crate) async fn consumer(
    streams: &jetstream::Context,
    name: &str,
    subjects: &str,
) -> Result<PullConsumer, ()> {
    make_stream(streams).await.map_err(drop)?;
    let config = consumer::pull::Config {
        durable_name: Some(name.to_owned()),
        filter_subject: subjects.to_owned(),
        ack_wait: SENT_AGAIN,
        max_ack_pending: -1,
        inactive_threshold: FORGOTTEN,
        ..consumer::pull::Config::default()
    };
    let made = streams.create_consumer_on_stream(config, STREAM).await;
    made.map_err(drop)
}

/// Locks a mutex, even if it is poisoned: no holder leaves its state inconsistent.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
