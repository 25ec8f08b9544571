//! Loops that are measured.

use std::sync::atomic::{AtomicU64, Ordering};

/// Runs `body` so many times, a number that the compiler cannot know. So it neither removes nor
/// unrolls the loop, which would no longer be the work that sysbench measures.
#[inline]
pub(super) fn repeat(times: &AtomicU64, mut body: impl FnMut(u64)) {
    let mut done = 0;
    while done < times.load(Ordering::Relaxed) {
        body(done);
        done += 1;
    }
}
