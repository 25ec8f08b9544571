//! The tests that need no database: cpu, memory, threads, mutex, and fileio.
//!
//! Each is a [`Test`], which [`driver::run`] runs on threads. An event does the work of sysbench's,
//! so that rates can be compared.

pub mod cpu;
pub mod driver;
pub mod fileio;
pub mod memory;
pub mod mutex;
pub mod period;
pub mod threads;

mod arrivals;
mod error;
mod iterations;
mod random;
mod region;
mod shared;

use std::sync::{Mutex, MutexGuard, PoisonError};

pub use error::NativeError;
use period::Counts;

/// What threads execute over and over.
pub trait Test: Send + Sync + 'static {
    /// What a thread keeps from event to event.
    type Thread;

    /// Whether the test ends by itself, so that a limit on the number of events does not apply.
    const LIMITS_ITSELF: bool = false;

    /// Prepares the thread with this number, on that thread.
    fn thread(&self, index: u32) -> Result<Self::Thread, NativeError>;

    /// Executes an event and adds what it did to `counts`. `false` if nothing was left to do; the
    /// thread then ends.
    fn event(&self, thread: &mut Self::Thread, counts: &mut Counts) -> Result<bool, NativeError>;

    /// Completes what the events began; the time it takes is part of the run.
    fn finish(&self, _: &mut Self::Thread, _: &mut Counts) -> Result<(), NativeError> {
        Ok(())
    }
}

/// The value of an option that has one of several names.
pub fn choose<T: Copy>(option: &str, name: &str, choices: &[(&str, T)]) -> Result<T, NativeError> {
    let chosen = choices.iter().find(|(known, _)| *known == name);
    let (_, value) = chosen.ok_or_else(|| NativeError::invalid(option, name))?;
    Ok(*value)
}

/// Keeps what different threads write off each other's cache lines.
#[derive(Debug, Default)]
#[repr(align(256))]
pub(crate) struct Padded<T>(pub(crate) T);

/// As many as an option says.
pub(crate) fn mutexes(option: &str, count: u32) -> Result<Vec<Padded<Mutex<()>>>, NativeError> {
    let mut mutexes = Vec::new();
    let reserved = mutexes.try_reserve_exact(count as usize);
    if count == 0 || reserved.is_err() {
        return Err(NativeError::invalid(option, count));
    }
    mutexes.resize_with(count as usize, Padded::default);
    Ok(mutexes)
}

/// A thread that panicked leaves nothing half done behind the mutexes here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
