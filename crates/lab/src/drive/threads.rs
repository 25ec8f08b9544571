//! The threads of a trial.

use std::panic::resume_unwind;
use std::thread::{Builder, Scope, ScopedJoinHandle};

use crate::Failure;

pub(crate) fn spawn<'scope, T: Send + 'scope>(
    scope: &'scope Scope<'scope, '_>,
    name: String,
    work: impl FnOnce() -> T + Send + 'scope,
) -> Result<ScopedJoinHandle<'scope, T>, Failure> {
    let thread = Builder::new().name(name).spawn_scoped(scope, work);
    thread.map_err(Failure::internal)
}

/// Waits for the end of a thread and propagates its panic, because a scope propagates only panics
/// of threads that were not joined.
pub(crate) fn join<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    thread
        .join()
        .unwrap_or_else(|payload| resume_unwind(payload))
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn a_panic_of_a_thread_is_not_lost() {
        let work: fn() = || panic!("out of luck");
        let panicked = catch_unwind(|| {
            std::thread::scope(|scope| join(spawn(scope, "test".to_owned(), work).unwrap()));
        });
        assert_eq!(panicked.unwrap_err().downcast_ref(), Some(&"out of luck"));
    }
}
