//! What each virtual user of a load has done.

use std::iter::zip;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The transactions of each virtual user up to the last second that was cut, readable while the
/// load runs.
#[derive(Debug)]
pub struct Tally(Box<[Entry]>);

/// Numbers of transactions, and their response times in nanoseconds, added up. Written by the
/// user's worker alone, and on no cache line of another's.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Entry {
    now: [AtomicU64; 2],
    /// At the last cut.
    cut: [AtomicU64; 2],
}

impl Tally {
    pub fn new(users: u32) -> Self {
        Self((0..users).map(|_| Entry::default()).collect())
    }

    /// The number of transactions of each user, and their response times in nanoseconds, added up.
    pub fn totals(&self) -> Vec<(u64, u64)> {
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let entries = self.0.iter();
        let totals = entries.map(|entry| (read(&entry.cut[0]), read(&entry.cut[1])));
        totals.collect()
    }

    pub(crate) fn add(&self, user: u32, response_ns: u64) {
        if let Some(entry) = self.0.get(user as usize) {
            for (number, by) in zip(&entry.now, [1, response_ns]) {
                let sum = number.load(Ordering::Relaxed).wrapping_add(by);
                number.store(sum, Ordering::Relaxed);
            }
        }
    }

    /// Makes [`Tally::totals`] return what these users have done so far.
    pub(crate) fn cut(&self, users: Range<u32>) {
        for entry in users.filter_map(|user| self.0.get(user as usize)) {
            for (cut, now) in zip(&entry.cut, &entry.now) {
                cut.store(now.load(Ordering::Relaxed), Ordering::Relaxed);
            }
        }
    }
}
