//! The disk space of the data of a trial's servers.

use serde::{Deserialize, Serialize};

/// The disk space of the data of all servers after the load.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Space {
    /// Size of the servers' files without holes, before compression and deduplication.
    pub data_bytes: u64,
    /// Bytes on the devices of the volumes, with all copies and parity; `None` unless dyno made
    /// each volume's file system.
    pub used_bytes: Option<u64>,
    /// `used_bytes` without compression and deduplication.
    pub unreduced_bytes: Option<u64>,
}

impl Space {
    /// Space that compression and deduplication save on the devices, in percent.
    pub fn savings_pct(&self) -> Option<f64> {
        let unreduced = self.unreduced_bytes.filter(|bytes| *bytes > 0)?;
        Some(100.0 * (1.0 - self.used_bytes? as f64 / unreduced as f64))
    }

    pub fn add(&mut self, other: &Self) {
        let sum = |one: Option<u64>, two: Option<u64>| one?.checked_add(two?);
        self.data_bytes = self.data_bytes.saturating_add(other.data_bytes);
        self.used_bytes = sum(self.used_bytes, other.used_bytes);
        self.unreduced_bytes = sum(self.unreduced_bytes, other.unreduced_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn savings_are_relative_to_unreduced_bytes() {
        let mut mirrored = Space {
            data_bytes: 100,
            used_bytes: Some(120),
            unreduced_bytes: Some(200),
        };
        assert_eq!(mirrored.savings_pct(), Some(40.0));
        mirrored.add(&Space {
            used_bytes: Some(180),
            ..mirrored
        });
        assert_eq!(
            (mirrored.data_bytes, mirrored.savings_pct()),
            (200, Some(25.0))
        );
        mirrored.add(&Space::default());
        assert_eq!(mirrored.savings_pct(), None);
    }
}
