//! Makes a machine ready for servers, and leaves it as it was: where they run ([`site`]), what their
//! data is on ([`volume`]), and what is recorded of both before it is created ([`home`]), so that a
//! later run can undo what a killed one has left.

pub mod account;
pub mod copy;
mod device;
pub mod failure;
pub mod home;
pub mod ip;
pub mod port;
pub mod process;
pub mod site;
pub mod ssh;
#[cfg(test)]
mod testing;
mod tool;
pub mod tree;
pub mod volume;

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks a value, even if a thread has panicked meanwhile: none leaves it half changed.
pub fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
