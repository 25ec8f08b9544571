//! What each virtual user of a load has done.

use std::sync::atomic::{AtomicU64, Ordering};

/// The transactions of each virtual user, readable while the load runs.
#[derive(Debug)]
pub struct Tally(Box<[Entry]>);

/// Written by the user's worker alone, and on no cache line of another's.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Entry {
    transactions: AtomicU64,
    response_ns: AtomicU64,
}

impl Tally {
    pub fn new(users: u32) -> Self {
        Self((0..users).map(|_| Entry::default()).collect())
    }

    /// The number of transactions of each user so far, and their response times in nanoseconds,
    /// added up.
    pub fn totals(&self) -> Vec<(u64, u64)> {
        let entries = self.0.iter();
        let read = |number: &AtomicU64| number.load(Ordering::Relaxed);
        let totals = entries.map(|entry| (read(&entry.transactions), read(&entry.response_ns)));
        totals.collect()
    }

    pub(crate) fn add(&self, user: u32, response_ns: u64) {
        let grow = |number: &AtomicU64, by: u64| {
            let sum = number.load(Ordering::Relaxed).wrapping_add(by);
            number.store(sum, Ordering::Relaxed);
        };
        if let Some(entry) = self.0.get(user as usize) {
            grow(&entry.transactions, 1);
            grow(&entry.response_ns, response_ns);
        }
    }
}
