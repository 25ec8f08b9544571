//! The rows of the tables: every row is a function of the seed, the table and
//! the key, so that any part can be made anywhere and checked afterwards.

mod row;

use serde::{Deserialize, Serialize};

pub use row::Row;

use crate::digits::Digits;
use crate::distribution::{Distribution, DistributionError, KeySampler};
use crate::random;

#[derive(Debug, Clone)]
pub struct TableRows {
    start: u64,
    k: KeySampler,
}

impl TableRows {
    /// Prepares to make rows of a table, counted from 1, whose `k` is drawn from 1 to `rows`.
    pub fn new(
        seed: u64,
        table: u32,
        rows: u64,
        distribution: &Distribution,
    ) -> Result<TableRows, DistributionError> {
        Ok(TableRows {
            start: random::table(seed, table),
            k: KeySampler::new(distribution, 1, rows)?,
        })
    }

    pub fn row(&self, key: u64) -> Row {
        let mut rng = random::row(self.start, key);
        let mut digits = Digits::new();
        digits.fill_both(&mut rng);
        // Last, for some distributions take any count of random numbers.
        let k = self.k.sample(&mut rng);
        Row { id: key, k, digits }
    }
}

/// The XOR of the CRC-32 of each row, and their count. Checksums of parts can be merged.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    pub count: u64,
    /// XOR of the rows' CRC-32 checksums, each of `id,k,c,pad`.
    pub xor: u32,
}

impl Checksum {
    pub fn add(&mut self, row: &Row) {
        self.count += 1;
        self.xor ^= row.crc32();
    }

    pub fn merge(&mut self, other: Checksum) {
        self.count += other.count;
        self.xor ^= other.xor;
    }
}
