//! Records the measurements of a worker.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use measure::slice::{ErrorCount, Slice};
use workload::catalog::Label;
use workload::session::SessionError;
use workload::virtual_user::Done;

use crate::control::lock;
use crate::pulse::Pulse;
use crate::tally::Tally;

/// The measurements of one worker. Its thread locks the slice to record, and the main thread once a
/// second to exchange it, so that all slices are cut at the same instant, even if a worker hangs in
/// a call.
#[derive(Debug)]
pub(crate) struct Recorder {
    slice: Mutex<Slice>,
    /// The numbers of labels of statements, and of kinds of transactions if these are told apart.
    sizes: (usize, usize),
    /// The intended start of each user's running transaction plus one; 0 without a transaction.
    running: Box<[AtomicU64]>,
    /// When the last transaction ended; 0 before the first one ends.
    last_end_ns: AtomicU64,
    /// The thread ID of the worker; 0 before it runs.
    pub(crate) thread: AtomicU32,
    /// Shared by all workers of the load.
    pulse: Option<Arc<Pulse>>,
    /// What counts the transactions of users, and the numbers of those of this worker.
    tally: Option<(Arc<Tally>, Range<u32>)>,
}

impl Recorder {
    pub(crate) fn new(
        sizes: (usize, usize),
        users: usize,
        pulse: Option<Arc<Pulse>>,
        tally: Option<(Arc<Tally>, Range<u32>)>,
    ) -> Self {
        Self {
            slice: Mutex::new(Slice::of_kinds(sizes.0, sizes.1)),
            sizes,
            running: (0..users).map(|_| AtomicU64::new(0)).collect(),
            last_end_ns: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            pulse,
            tally,
        }
    }

    /// Takes what was recorded.
    pub(crate) fn take(&self) -> Slice {
        // Allocated without the lock, so that the worker does not wait.
        let empty = Slice::of_kinds(self.sizes.0, self.sizes.1);
        let mut slice = lock(&self.slice);
        // So that it has the transactions of the slices.
        if let Some((tally, users)) = &self.tally {
            tally.cut(users.clone());
        }
        std::mem::replace(&mut *slice, empty)
    }

    /// Records that user `user` of this worker has started a transaction whose intended start is
    /// `intended_ns`.
    pub(crate) fn begin(&self, user: usize, intended_ns: u64) {
        self.running[user].store(intended_ns + 1, Ordering::Relaxed);
    }

    /// Records that a user has no running transaction.
    pub(crate) fn idle(&self, user: usize) {
        self.running[user].store(0, Ordering::Relaxed);
    }

    /// When the last transaction ended, on the load's clock; 0 before the first one ends.
    pub(crate) fn last_end_ns(&self) -> u64 {
        self.last_end_ns.load(Ordering::Relaxed)
    }

    /// The intended starts of all running transactions.
    pub(crate) fn running(&self) -> impl Iterator<Item = u64> {
        self.running
            .iter()
            .filter_map(|start| start.load(Ordering::Relaxed).checked_sub(1))
    }

    /// Records a transaction of user `user` of this worker that ended at `now_ns`, and whose last
    /// attempt started at `attempt_ns`.
    pub(crate) fn transaction(
        &self,
        user: usize,
        attempt_ns: u64,
        now_ns: u64,
        response_ns: u64,
        service_ns: Option<u64>,
        done: Done,
    ) {
        self.last_end_ns.store(now_ns, Ordering::Relaxed);
        if let Some(pulse) = &self.pulse {
            pulse.transaction(attempt_ns, now_ns);
        }
        let mut slice = lock(&self.slice);
        if let Some((tally, users)) = &self.tally {
            tally.add(users.start + user as u32, response_ns);
        }
        slice.response.record(response_ns);
        if let Some(of_kind) = slice.kinds.get_mut(done.kind as usize) {
            of_kind.record(response_ns);
        }
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

    /// Records an error that was received at `now_ns`.
    pub(crate) fn error(&self, now_ns: u64, error: &SessionError, action: &'static str) {
        if let Some(pulse) = &self.pulse {
            pulse.error(now_ns, error, action);
        }
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

    /// Records a statement whose reply was read `delay_ns` after its arrival.
    #[inline]
    pub(crate) fn statement(&self, label: Label, duration_ns: u64, delay_ns: Option<u64>) {
        let mut slice = lock(&self.slice);
        slice.statements[label.index()].record(duration_ns);
        if let Some(delay_ns) = delay_ns {
            slice.delay.record(delay_ns);
        }
    }

    /// Records a reply whose timestamp was implausible.
    pub(crate) fn refused_stamp(&self) {
        lock(&self.slice).refused_stamps += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tally_is_that_of_the_last_cut() {
        let tally = Arc::new(Tally::new(3));
        let recorder = Recorder::new((0, 0), 2, None, Some((Arc::clone(&tally), 1..3)));
        let end = |user| recorder.transaction(user, 0, 9, 5, None, Done::default());
        end(1);
        assert_eq!(tally.totals(), [(0, 0); 3]);
        assert_eq!(recorder.take().response.count(), 1);
        end(0);
        assert_eq!(tally.totals(), [(0, 0), (0, 0), (1, 5)]);
    }
}
