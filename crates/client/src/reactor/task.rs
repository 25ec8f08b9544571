//! Tasks, and the queue of tasks that are ready.

use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

use super::Inner;

pub(super) type BoxFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The task number of the future given to `block_on`.
pub(super) const MAIN: usize = usize::MAX;

/// A future and its waker.
pub(super) struct Task {
    pub(super) future: BoxFuture,
    pub(super) waker: Waker,
}

impl std::fmt::Debug for Task {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Task").finish_non_exhaustive()
    }
}

impl Task {
    #[inline]
    pub(super) fn poll(&mut self) -> Poll<()> {
        let mut context = Context::from_waker(&self.waker);
        self.future.as_mut().poll(&mut context)
    }
}

/// Tasks that other threads have woken. Nearly all tasks are woken by the loop's own thread, and go
/// to a separate list without a lock.
#[derive(Debug)]
pub(super) struct ReadyQueue {
    remote: Mutex<Remote>,
    /// Whether `remote` is not empty.
    has_remote: AtomicBool,
    waker: mio::Waker,
}

#[derive(Debug, Default)]
struct Remote {
    ids: Vec<usize>,
    all: bool,
}

impl ReadyQueue {
    pub(super) fn new(waker: mio::Waker) -> Self {
        Self {
            remote: Mutex::default(),
            has_remote: AtomicBool::new(false),
            waker,
        }
    }

    fn push(&self, id: usize) {
        if !Inner::wake_here(self, id) {
            self.tell(|remote| remote.ids.push(id));
        }
    }

    fn tell(&self, what: impl FnOnce(&mut Remote)) {
        what(&mut self.lock());
        self.has_remote.store(true, Ordering::Release);
        // Fails only when the loop is gone, and then there is nothing left to wake.
        let _ = self.waker.wake();
    }

    fn lock(&self) -> MutexGuard<'_, Remote> {
        self.remote.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends what other threads have woken to `batch`; returns true if all tasks were woken.
    pub(super) fn take(&self, batch: &mut Vec<usize>) -> bool {
        if !self.has_remote.load(Ordering::Relaxed)
            || !self.has_remote.swap(false, Ordering::Acquire)
        {
            return false;
        }
        let mut remote = self.lock();
        batch.append(&mut remote.ids);
        std::mem::take(&mut remote.all)
    }
}

/// Wakes all tasks.
impl Wake for ReadyQueue {
    fn wake(self: Arc<Self>) {
        self.tell(|remote| remote.all = true);
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
