//! The test `threads`: threads that yield while they hold a mutex.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use super::period::Counts;
use super::{NativeError, Padded, Test, lock, mutexes};

/// An event locks one mutex, yields, and unlocks it, many times. The mutex is the standard
/// library's, which spins for a moment before it sleeps; that of sysbench sleeps at once.
#[derive(Debug)]
pub struct Threads {
    yields: u32,
    mutexes: Vec<Padded<Mutex<()>>>,
    events: AtomicU64,
}

impl Threads {
    /// `yields` is `--thread-yields`, `locks` is `--thread-locks`.
    pub fn new(yields: u32, locks: u32) -> Result<Self, NativeError> {
        Ok(Self {
            yields,
            mutexes: mutexes("thread-locks", locks)?,
            events: AtomicU64::new(0),
        })
    }
}

impl Test for Threads {
    type Thread = ();

    fn thread(&self, _: u32) -> Result<(), NativeError> {
        Ok(())
    }

    fn event(&self, (): &mut (), _: &mut Counts) -> Result<bool, NativeError> {
        let number = self.events.fetch_add(1, Ordering::Relaxed);
        let index = number % self.mutexes.len() as u64;
        if let Some(Padded(mutex)) = self.mutexes.get(index as usize) {
            for _ in 0..self.yields {
                let _held = lock(mutex);
                thread::yield_now();
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_take_turns_at_the_mutexes() {
        let threads = Threads::new(3, 2).unwrap();
        for _ in 0..5 {
            assert!(threads.event(&mut (), &mut Counts::default()).unwrap());
        }
        assert_eq!(threads.events.load(Ordering::Relaxed), 5);
    }

    #[test]
    fn at_least_one_mutex() {
        let error = Threads::new(1000, 0).unwrap_err();
        assert_eq!(error.message, "Invalid value for thread-locks: 0");
    }
}
