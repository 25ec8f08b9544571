//! Random numbers that stay the same from version to version: what they decide
//! (the rows, the keys of a seed) is part of a result.

use rand::Rng;
use rand_xoshiro::{SplitMix64, Xoshiro256PlusPlus, rand_core::SeedableRng};

/// An odd constant with no pattern: the golden ratio's fraction.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Numbers of SplitMix64's sequence that each row may use before it reaches
/// those of the next; rows of one table so never share a number.
const NUMBERS_PER_ROW: u64 = 64;

/// A number below `n`. The bias of one multiplication instead of a division is
/// below n / 2^64.
pub fn below(rng: &mut impl Rng, n: u64) -> u64 {
    ((u128::from(rng.next_u64()) * u128::from(n)) >> 64) as u64
}

/// A number in [0, 1).
pub fn unit(rng: &mut impl Rng) -> f64 {
    const SCALE: f64 = 1.0 / (1u64 << 53) as f64;
    (rng.next_u64() >> 11) as f64 * SCALE
}

/// The generator of virtual user `user`.
pub fn user(seed: u64, user: u32) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(stream(seed, u64::from(user)))
}

/// The start of the rows of a table, from which [`row`] counts.
pub(crate) fn table(seed: u64, table: u32) -> u64 {
    // Tables and users with the same number must not meet.
    stream(!seed, u64::from(table))
}

/// The generator of one row. SplitMix64 is a counter with a mixer, so it can
/// start anywhere at no cost.
pub(crate) fn row(table: u64, key: u64) -> SplitMix64 {
    let steps = key.wrapping_mul(NUMBERS_PER_ROW);
    SplitMix64::seed_from_u64(table.wrapping_add(steps.wrapping_mul(GOLDEN)))
}

/// Mixes a seed and the number of a stream into a start far from all others.
fn stream(seed: u64, number: u64) -> u64 {
    let mixed = SplitMix64::seed_from_u64(seed).next_u64();
    SplitMix64::seed_from_u64(mixed ^ number.wrapping_mul(GOLDEN)).next_u64()
}
