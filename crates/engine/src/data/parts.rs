//! The queue of table parts to load, shared by several connections.

use std::ops::RangeInclusive;
use std::vec::IntoIter;

use workload::rows::Checksum;

/// Rows of one part, which is one statement and one transaction.
pub(crate) const PART_ROWS: u64 = 50_000;

#[derive(Debug)]
pub(crate) struct Queue {
    /// The tables that no connection is creating or has created.
    unclaimed: IntoIter<u32>,
    /// The tables that exist.
    open: Vec<Work>,
    rows: u64,
}

#[derive(Debug)]
struct Work {
    table: u32,
    /// Number of parts that a connection has taken.
    taken: u64,
    done: u64,
    checksum: Checksum,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    pub(crate) table: u32,
    pub(crate) keys: RangeInclusive<u64>,
}

impl Queue {
    pub(crate) fn new(tables: Vec<u32>, rows: u64) -> Self {
        Self {
            unclaimed: tables.into_iter(),
            open: Vec::new(),
            rows,
        }
    }

    fn parts(&self) -> u64 {
        self.rows.div_ceil(PART_ROWS)
    }

    /// The next table that no connection has started; [`Queue::open`] follows.
    pub(crate) fn claim_table(&mut self) -> Option<u32> {
        self.unclaimed.next()
    }

    /// Called when the table exists and its parts can be loaded.
    pub(crate) fn open(&mut self, table: u32) {
        self.open.push(Work {
            table,
            taken: 0,
            done: 0,
            checksum: Checksum::default(),
        });
    }

    pub(crate) fn take_of(&mut self, table: u32) -> Option<Part> {
        self.take(|work| work.table == table)
    }

    /// A part of the table with the most parts left.
    pub(crate) fn take_any(&mut self) -> Option<Part> {
        self.take(|_| true)
    }

    fn take(&mut self, fits: impl Fn(&Work) -> bool) -> Option<Part> {
        let (parts, rows) = (self.parts(), self.rows);
        let open = self.open.iter_mut();
        let left = open.filter(|work| work.taken < parts && fits(work));
        let work = left.min_by_key(|work| work.taken)?;
        let first = work.taken * PART_ROWS + 1;
        work.taken += 1;
        Some(Part {
            table: work.table,
            keys: first..=rows.min(first + PART_ROWS - 1),
        })
    }

    /// Records that a part was loaded; returns the table's checksum after the last part.
    pub(crate) fn done(&mut self, part: &Part, checksum: Checksum) -> Option<Checksum> {
        let parts = self.parts();
        let mut open = self.open.iter_mut();
        let work = open.find(|work| work.table == part.table)?;
        work.checksum.merge(checksum);
        work.done += 1;
        (work.done == parts).then_some(work.checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_tables_that_exist_are_loaded() {
        let mut queue = Queue::new(vec![1, 2], 2 * PART_ROWS + 1);
        let found = (queue.claim_table(), queue.claim_table());
        assert_eq!(found, (Some(1), Some(2)));
        assert_eq!(queue.claim_table(), None);
        assert_eq!(queue.take_any(), None);
        queue.open(1);
        let keys: Vec<_> = std::iter::from_fn(|| queue.take_of(1))
            .map(|part| part.keys)
            .collect();
        let last = 2 * PART_ROWS + 1;
        let expected = [1..=PART_ROWS, PART_ROWS + 1..=2 * PART_ROWS, last..=last];
        assert_eq!(keys, expected);
        queue.open(2);
        assert_eq!(queue.take_of(1), None);
        assert_eq!(queue.take_any().unwrap().table, 2);
    }

    #[test]
    fn the_last_part_gives_the_checksum_of_all() {
        let mut queue = Queue::new(vec![7], PART_ROWS + 1);
        queue.claim_table();
        queue.open(7);
        let (one, two) = (queue.take_any().unwrap(), queue.take_any().unwrap());
        assert_eq!(queue.take_any(), None);
        let sum = |count, xor| Checksum { count, xor };
        assert_eq!(queue.done(&two, sum(1, 5)), None);
        let expected = Some(sum(PART_ROWS + 1, 3));
        assert_eq!(queue.done(&one, sum(PART_ROWS, 6)), expected);
    }
}
