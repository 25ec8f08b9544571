//! Loops that are measured.

use std::sync::atomic::{AtomicU64, Ordering};

/// A number of iterations that the compiler cannot know. So it neither removes nor unrolls the loop
/// up to it, which would no longer be the work that sysbench measures.
#[derive(Debug)]
pub(crate) struct Iterations(AtomicU64);

impl Iterations {
    pub(crate) fn new(count: u64) -> Self {
        Self(AtomicU64::new(count))
    }

    #[inline]
    pub(crate) fn each(&self, mut body: impl FnMut(u64)) {
        let mut done = 0;
        while done < self.0.load(Ordering::Relaxed) {
            body(done);
            done += 1;
        }
    }
}
