//! Random numbers, drawn as sysbench draws them, because their cost is part of an event's.

use rand_xoshiro::Xoroshiro128Plus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// sysbench's generator.
pub(super) struct Random(Xoroshiro128Plus);

impl Random {
    /// The generator of a thread.
    pub(super) fn new(seed: u64, thread: u32) -> Self {
        let seed = seed.wrapping_add(u64::from(thread) << 32);
        Self(Xoroshiro128Plus::seed_from_u64(seed))
    }

    /// A number in [0, 1).
    pub(super) fn unit(&mut self) -> f64 {
        const SCALE: f64 = 1.0 / (1_u64 << 53) as f64;
        (self.0.next_u64() >> 11) as f64 * SCALE
    }

    /// A whole number below `limit`, which is at most 2^53.
    pub(super) fn below(&mut self, limit: u64) -> u64 {
        (self.unit() * limit as f64) as u64
    }

    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        self.0.fill_bytes(bytes);
    }
}
