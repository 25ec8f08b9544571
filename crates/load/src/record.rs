//! What a worker records.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use measure::slice::{ErrorCount, Slice};
use workload::label::Label;
use workload::session::SessionError;
use workload::virtual_user::Done;

use crate::control::lock;

/// One worker's measurements. Its own thread takes the lock, and once a second the main
/// thread, to exchange the slice: all slices are cut at the same instant, even if a worker
/// hangs in a call.
#[derive(Debug)]
pub(crate) struct Recorder {
    slice: Mutex<Slice>,
    /// For each user the intended start of its running transaction, plus one.
    running: Box<[AtomicU64]>,
    /// When the last transaction ended; 0 before the first one has.
    last_end_ns: AtomicU64,
    /// The kernel's ID of the worker's thread; 0 before it runs.
    pub(crate) thread: AtomicU32,
}

impl Recorder {
    pub(crate) fn new(labels: usize, users: usize) -> Self {
        Self {
            slice: Mutex::new(Slice::new(labels)),
            running: (0..users).map(|_| AtomicU64::new(0)).collect(),
            last_end_ns: AtomicU64::new(0),
            thread: AtomicU32::new(0),
        }
    }

    /// Puts an empty slice in place of the one that was recorded.
    pub(crate) fn exchange(&self, spare: &mut Slice) {
        std::mem::swap(&mut *lock(&self.slice), spare);
    }

    /// User `user` of this worker has started the transaction intended for `intended_ns`.
    pub(crate) fn begin(&self, user: usize, intended_ns: u64) {
        self.running[user].store(intended_ns + 1, Ordering::Relaxed);
    }

    pub(crate) fn idle(&self, user: usize) {
        self.running[user].store(0, Ordering::Relaxed);
    }

    /// When the last transaction ended, on the load's clock; 0 before the first one has.
    pub(crate) fn last_end_ns(&self) -> u64 {
        self.last_end_ns.load(Ordering::Relaxed)
    }

    /// The intended starts of all running transactions.
    pub(crate) fn running(&self) -> impl Iterator<Item = u64> {
        self.running
            .iter()
            .filter_map(|start| start.load(Ordering::Relaxed).checked_sub(1))
    }

    /// A transaction has ended at `now_ns`.
    pub(crate) fn transaction(
        &self,
        now_ns: u64,
        response_ns: u64,
        service_ns: Option<u64>,
        done: Done,
    ) {
        self.last_end_ns.store(now_ns, Ordering::Relaxed);
        let mut slice = lock(&self.slice);
        slice.response.record(response_ns);
        if let Some(service_ns) = service_ns {
            slice.service.record(service_ns);
        }
        slice.lookups += u64::from(done.lookups);
        slice.misses += u64::from(done.misses);
    }

    pub(crate) fn lateness(&self, late_ns: u64) {
        lock(&self.slice).lateness.record(late_ns);
    }

    pub(crate) fn reconnected(&self) {
        lock(&self.slice).reconnects += 1;
    }

    pub(crate) fn error(&self, error: &SessionError, action: &str) {
        let mut slice = lock(&self.slice);
        let entry = slice
            .errors
            .entry(error.code())
            .or_insert_with(|| ErrorCount {
                count: 0,
                example: error.message.clone(),
                action: action.to_owned(),
            });
        entry.count += 1;
    }

    /// A statement got its reply, which was read `delay_ns` after its arrival.
    #[inline]
    pub(crate) fn statement(&self, label: Label, duration_ns: u64, delay_ns: Option<u64>) {
        let mut slice = lock(&self.slice);
        slice.statements[label.index()].record(duration_ns);
        if let Some(delay_ns) = delay_ns {
            slice.delay.record(delay_ns);
        }
    }

    /// A reply's time stamp could not be right.
    pub(crate) fn refused_stamp(&self) {
        lock(&self.slice).refused_stamps += 1;
    }
}
