//! What the threads of a run share with the one that watches them.

use std::mem;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use super::arrivals::{Arrivals, QUEUE_LIMIT};
use super::driver::Load;
use super::period::{Counts, Second, Slice};
use super::{NativeError, Padded, Test, lock};

/// How often a thread that waits for its next event checks whether the run is over.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

const QUEUE_IS_FULL: &str = "The event queue is full. This means the worker threads are unable to \
    keep up with the specified event generation rate";

/// All times are since the start.
#[derive(Debug)]
pub(crate) struct Shared {
    /// Set when all threads are ready, which starts them.
    pub(crate) start: OnceLock<Instant>,
    pub(crate) end: Duration,
    warmup: Duration,
    /// The first one ends the run.
    pub(crate) failure: OnceLock<NativeError>,
    stop: Arc<AtomicBool>,
    /// How many events may begin after the warm-up.
    events: Option<u64>,
    begun: AtomicU64,
    arrivals: Option<Mutex<Arrivals>>,
    pub(crate) slices: Vec<Padded<Mutex<Slice>>>,
}

impl Shared {
    pub(crate) fn new(load: &Load, events: Option<u64>, stop: &Arc<AtomicBool>) -> Self {
        let time = load.time.unwrap_or(Duration::MAX);
        let arrivals = || Mutex::new(Arrivals::new(load.rate, load.seed));
        Self {
            start: OnceLock::new(),
            end: load.warmup.saturating_add(time),
            warmup: load.warmup,
            failure: OnceLock::new(),
            stop: Arc::clone(stop),
            events,
            begun: AtomicU64::new(0),
            arrivals: (load.rate > 0).then(arrivals),
            slices: (0..load.threads).map(|_| Padded::default()).collect(),
        }
    }

    pub(crate) fn fail(&self, failure: NativeError) {
        // Later failures may follow from the first one.
        let _ = self.failure.set(failure);
    }

    /// Executes events until the run is over.
    pub(crate) fn work<T: Test>(
        &self,
        test: &T,
        mut thread: T::Thread,
        slice: &Mutex<Slice>,
    ) -> Result<(), NativeError> {
        let start = *self.start.wait();
        let mut counts = Counts::default();
        while let Some(due) = self.next(start) {
            if !test.event(&mut thread, &mut counts)? {
                break;
            }
            let latency = start.elapsed().saturating_sub(due);
            let mut slice = lock(slice);
            slice.latency.record(latency.as_nanos() as u64);
            slice.counts += mem::take(&mut counts);
        }
        test.finish(&mut thread, &mut counts)?;
        lock(slice).counts += counts;
        Ok(())
    }

    /// When the next event begins, or was due; `None` if the thread must end.
    fn next(&self, start: Instant) -> Option<Duration> {
        let now = start.elapsed();
        if self.is_over(now) || !self.may_begin(now) {
            return None;
        }
        let Some(arrivals) = &self.arrivals else {
            return Some(start.elapsed());
        };
        let due = lock(arrivals).take();
        self.wait_until(due, start).then_some(due)
    }

    fn is_over(&self, now: Duration) -> bool {
        now >= self.end || self.stop.load(Ordering::Relaxed) || self.failure.get().is_some()
    }

    fn may_begin(&self, now: Duration) -> bool {
        let begin = || self.begun.fetch_add(1, Ordering::Relaxed);
        now < self.warmup || self.events.is_none_or(|events| begin() < events)
    }

    /// `false` if the run is over before.
    fn wait_until(&self, due: Duration, start: Instant) -> bool {
        loop {
            let now = start.elapsed();
            if self.is_over(now) {
                return false;
            }
            if now >= due {
                return true;
            }
            let pause = due.min(self.end) - now;
            thread::sleep(pause.min(POLL_INTERVAL));
        }
    }

    /// What happened since the last call.
    pub(crate) fn collect(&self, end: Duration) -> Second {
        let slices = self.slices.iter();
        let threads: Vec<_> = slices.map(|slice| mem::take(&mut *lock(&slice.0))).collect();
        let executed: u64 = threads.iter().map(|slice| slice.latency.count()).sum();
        let arrivals = self.arrivals.as_ref();
        let queue = arrivals.map(|arrivals| lock(arrivals).queue(end, executed));
        if queue.is_some_and(|(waiting, _)| waiting > QUEUE_LIMIT) {
            self.fail(NativeError::new(QUEUE_IS_FULL));
        }
        Second {
            end,
            threads,
            queue,
        }
    }
}
