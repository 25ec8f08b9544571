//! Where the data of nodes is stored.

/// Limits of each device of a volume. `None`: no limit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct DiskLimits {
    /// Reads per second.
    pub read_iops: Option<u64>,
    /// Writes per second.
    pub write_iops: Option<u64>,
    /// Bytes read per second.
    pub read_bytes_per_s: Option<u64>,
    /// Bytes written per second.
    pub write_bytes_per_s: Option<u64>,
}
