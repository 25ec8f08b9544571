//! Tasks and the queue of those that can go on.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Wake, Waker};
use std::thread::ThreadId;

pub(super) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The number that stands for the future given to `block_on`.
pub(super) const MAIN: usize = usize::MAX;

pub(super) struct Task {
    /// Absent while it is polled.
    future: Option<BoxFuture>,
    waker: Waker,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

impl Task {
    pub(super) fn new(future: BoxFuture, waker: Waker) -> Self {
        Self {
            future: Some(future),
            waker,
        }
    }

    pub(super) fn take(&mut self) -> Option<(BoxFuture, Waker)> {
        Some((self.future.take()?, self.waker.clone()))
    }

    pub(super) fn put_back(&mut self, future: BoxFuture) {
        self.future = Some(future);
    }
}

/// Which tasks can go on.
#[derive(Debug)]
pub(super) struct ReadyQueue {
    ids: Mutex<Vec<usize>>,
    all: AtomicBool,
    /// The thread of the loop needs no event to see its own wake-ups.
    owner: ThreadId,
    waker: mio::Waker,
}

impl ReadyQueue {
    pub(super) fn new(waker: mio::Waker) -> Self {
        Self {
            ids: Mutex::default(),
            all: AtomicBool::new(false),
            owner: std::thread::current().id(),
            waker,
        }
    }

    fn push(&self, id: usize) {
        self.ids
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(id);
        if std::thread::current().id() != self.owner {
            self.notify();
        }
    }

    pub(super) fn wake_all(&self) {
        self.all.store(true, Ordering::Release);
        self.notify();
    }

    fn notify(&self) {
        // It fails only when the loop is gone, and then nothing is left to wake.
        let _ = self.waker.wake();
    }

    /// Moves the queue into `batch` (which is empty); true when every task is meant.
    pub(super) fn take(&self, batch: &mut Vec<usize>) -> bool {
        let mut ids = self.ids.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::swap(&mut *ids, batch);
        self.all.load(Ordering::Acquire) && self.all.swap(false, Ordering::AcqRel)
    }
}

#[derive(Debug)]
pub(super) struct TaskWaker {
    id: usize,
    queue: Arc<ReadyQueue>,
}

impl TaskWaker {
    pub(super) fn new(id: usize, queue: &Arc<ReadyQueue>) -> Self {
        Self {
            id,
            queue: Arc::clone(queue),
        }
    }
}

impl Wake for TaskWaker {
    fn wake(self: Arc<Self>) {
        self.queue.push(self.id);
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.queue.push(self.id);
    }
}
