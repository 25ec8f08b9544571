//! The tests `threads` and `mutex`: threads that compete for mutexes.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use super::{Event, below, lock};
use crate::options::{OptionError, Values};

/// So many mutexes need 256 MiB.
const MOST: u32 = 1 << 20;

/// Keeps mutexes off each other's cache lines.
#[derive(Default)]
#[repr(align(256))]
struct Padded(Mutex<()>);

fn mutexes(values: &Values, name: &str) -> Result<Vec<Padded>, OptionError> {
    let count = values.within(name, 1..=MOST)?;
    Ok((0..count).map(|_| Padded::default()).collect())
}

/// Locks one mutex, yields, and unlocks it, many times. The mutex is the standard library's, which
/// spins for a moment before it sleeps; that of sysbench sleeps at once.
pub(super) fn threads(values: &Values) -> Result<Event, OptionError> {
    let mutexes = mutexes(values, "thread-locks")?;
    let yields = values.within("thread-yields", 0..=u32::MAX)?;
    let events = AtomicU64::new(0);
    Ok(Arc::new(move |_, _| {
        let number = events.fetch_add(1, Ordering::Relaxed) as usize;
        if let Some(Padded(mutex)) = mutexes.get(number % mutexes.len()) {
            for _ in 0..yields {
                let _held = lock(mutex);
                thread::yield_now();
            }
        }
    }))
}

/// Locks mutexes at random, with work in between.
pub(super) fn mutex(values: &Values) -> Result<Event, OptionError> {
    // Threads that hold different mutexes race for it, as in sysbench. In a cache line
    // other than that of `loops`, which would be slower otherwise.
    static SHARED: AtomicU64 = AtomicU64::new(0);
    let mutexes = mutexes(values, "mutex-num")?;
    let locks = values.within("mutex-locks", 0..=u32::MAX)?;
    let loops = AtomicU32::new(values.within("mutex-loops", 0..=u32::MAX)?);
    Ok(Arc::new(move |_, random| {
        for _ in 0..locks {
            let index = below(random, mutexes.len() as u64);
            count_to(&loops);
            if let Some(Padded(mutex)) = mutexes.get(index as usize) {
                let _held = lock(mutex);
                let value = SHARED.load(Ordering::Relaxed);
                SHARED.store(value.wrapping_add(1), Ordering::Relaxed);
            }
        }
    }))
}

/// Counts to a number that the compiler cannot know, so that it keeps the loop.
fn count_to(loops: &AtomicU32) {
    let mut counted = 0;
    while counted < loops.load(Ordering::Relaxed) {
        counted += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::native::tests::values;

    #[test]
    fn at_least_one_mutex() {
        let error = threads(&values("threads --thread-locks=0 run"));
        let expected = "FATAL: Invalid value for --thread-locks: 0";
        assert_eq!(error.err().unwrap().message, expected);
        let error = mutex(&values("mutex --mutex-num=-1 run"));
        let expected = "FATAL: Invalid value for --mutex-num: -1";
        assert_eq!(error.err().unwrap().message, expected);
    }
}
