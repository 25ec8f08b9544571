//! Runs a test: every thread executes one event after the other until the time or the events are
//! over.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::RecvTimeoutError::Timeout;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

use super::period::Second;
use super::shared::Shared;
use super::{NativeError, Test};

const SECOND: Duration = Duration::from_secs(1);

/// How a test is run.
#[derive(Debug, Clone)]
pub struct Load {
    pub threads: u32,
    /// How many events all threads execute together after the warm-up; no limit if 0.
    pub events: u64,
    /// After the warm-up; no limit if `None`.
    pub time: Option<Duration>,
    pub warmup: Duration,
    /// How long after the time limit running events are abandoned; never if `None`.
    pub forced_shutdown: Option<Duration>,
    /// Events per second, with Poisson arrivals; as many as possible if 0.
    pub rate: u32,
    pub seed: u64,
}

/// What happens in a run.
#[derive(Debug)]
pub enum Event<'a> {
    /// All threads are ready. They start when this was received.
    Started,
    /// A second has ended, or the run.
    Second(&'a Second),
}

/// Runs a test until it is over, `stop` is set, or a thread fails. Returns the number of events
/// that a forced shutdown abandoned; their threads still run.
pub fn run<T: Test>(
    test: &Arc<T>,
    load: &Load,
    stop: &Arc<AtomicBool>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> Result<usize, NativeError> {
    let has_limit = load.events > 0 && !T::LIMITS_ITSELF;
    let shared = Arc::new(Shared::new(load, has_limit.then_some(load.events), stop));
    let (sender, messages) = mpsc::channel();
    let threads = (0..load.threads).map_while(|index| spawn(index, test, &shared, &sender));
    let threads: Vec<_> = threads.collect();
    drop(sender);
    messages.iter().take(threads.len()).for_each(drop);
    let unfinished = watch(load, &shared, &messages, on_event);
    if unfinished > 0 {
        stop.store(true, Ordering::Relaxed);
    } else if threads.into_iter().any(|thread| thread.join().is_err()) {
        shared.fail(NativeError::new("A thread ended unexpectedly"));
    }
    let failure = shared.failure.get().cloned();
    failure.map_or(Ok(unfinished), Err)
}

/// Starts a thread. It sends a message when it is ready or has failed, and drops the sender when it
/// ends.
fn spawn<T: Test>(
    index: u32,
    test: &Arc<T>,
    shared: &Arc<Shared>,
    sender: &Sender<()>,
) -> Option<JoinHandle<()>> {
    let (test, own, sender) = (Arc::clone(test), Arc::clone(shared), sender.clone());
    let life = move || {
        let thread = test.thread(index).map_err(|failure| own.fail(failure));
        let _ = sender.send(());
        if let (Ok(thread), Some(slice)) = (thread, own.slices.get(index as usize)) {
            let worked = own.work(&*test, thread, &slice.0);
            worked.unwrap_or_else(|failure| own.fail(failure));
        }
    };
    let spawned = Builder::new().spawn(life);
    let spawned = spawned.map_err(|error| NativeError::system("Cannot create a thread", error));
    spawned.map_err(|failure| shared.fail(failure)).ok()
}

/// Starts the threads and waits until they have ended. Returns how many a forced shutdown abandons.
fn watch(
    load: &Load,
    shared: &Arc<Shared>,
    messages: &Receiver<()>,
    on_event: &mut dyn FnMut(Event<'_>),
) -> usize {
    if shared.failure.get().is_none() {
        on_event(Event::Started);
    }
    let start = *shared.start.get_or_init(Instant::now);
    let limit = shared.end.saturating_add(load.forced_shutdown.unwrap_or(Duration::MAX));
    let mut next = SECOND;
    // The channel is disconnected when all threads have dropped their senders.
    while messages.recv_timeout(next.min(limit).saturating_sub(start.elapsed())) == Err(Timeout) {
        let now = start.elapsed();
        on_event(Event::Second(&shared.collect(now)));
        if now >= limit {
            return Arc::strong_count(shared) - 1;
        }
        next += SECOND;
    }
    on_event(Event::Second(&shared.collect(start.elapsed())));
    0
}
