//! A checksum of rows in any order.

use serde::{Deserialize, Serialize};

use super::Row;

/// The XOR of the CRC-32 of each row, and their count. Checksums of parts can be merged.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checksum {
    pub count: u64,
    /// XOR of CRC-32("id,k,c,pad") of each.
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
