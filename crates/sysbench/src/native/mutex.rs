//! The test `mutex`: threads that lock mutexes at random, with work in between.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use super::iterations::Iterations;
use super::period::Counts;
use super::random::Random;
use super::{NativeError, Padded, Test, lock, mutexes};

/// Each thread has one event: its locks.
#[derive(Debug)]
pub struct Mutexes {
    mutexes: Vec<Padded<Mutex<()>>>,
    locks: u32,
    loops: Iterations,
    /// Threads that hold different mutexes race for it, as in sysbench.
    shared: AtomicU64,
    seed: u64,
}

/// What a thread draws mutexes with, until it has had its event.
#[derive(Debug)]
pub struct Thread(Option<Random>);

impl Mutexes {
    /// `count` is `--mutex-num`, `locks` is `--mutex-locks`, `loops` is `--mutex-loops`.
    pub fn new(count: u32, locks: u32, loops: u32, seed: u64) -> Result<Self, NativeError> {
        Ok(Self {
            mutexes: mutexes("mutex-num", count)?,
            locks,
            loops: Iterations::new(loops.into()),
            shared: AtomicU64::new(0),
            seed,
        })
    }

    fn increment(&self) {
        let value = self.shared.load(Ordering::Relaxed);
        self.shared.store(value.wrapping_add(1), Ordering::Relaxed);
    }
}

impl Test for Mutexes {
    type Thread = Thread;

    const LIMITS_ITSELF: bool = true;

    fn thread(&self, index: u32) -> Result<Thread, NativeError> {
        Ok(Thread(Some(Random::new(self.seed, index))))
    }

    fn event(&self, thread: &mut Thread, _: &mut Counts) -> Result<bool, NativeError> {
        let Some(mut random) = thread.0.take() else {
            return Ok(false);
        };
        for _ in 0..self.locks {
            let index = random.below(self.mutexes.len() as u64);
            self.loops.each(|_| {});
            if let Some(Padded(mutex)) = self.mutexes.get(index as usize) {
                let _held = lock(mutex);
                self.increment();
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_one_event() {
        let mutexes = Mutexes::new(4, 100, 10, 1).unwrap();
        let mut thread = mutexes.thread(0).unwrap();
        assert!(mutexes.event(&mut thread, &mut Counts::default()).unwrap());
        assert!(!mutexes.event(&mut thread, &mut Counts::default()).unwrap());
        assert_eq!(mutexes.shared.load(Ordering::Relaxed), 100);
    }

    #[test]
    fn at_least_one_mutex() {
        let error = Mutexes::new(0, 1, 1, 1).unwrap_err();
        assert_eq!(error.message, "Invalid value for mutex-num: 0");
    }
}
