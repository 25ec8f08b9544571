//! The order in which trials run.

use crate::plan::Order;

/// Which point of the study each trial has, in the order in which they run:
/// `repeats` blocks, each with every point once.
pub(crate) fn blocks(points: usize, repeats: u32, order: Order) -> Vec<Vec<usize>> {
    let mut random = SplitMix64(order.seed);
    let block = || {
        let mut block: Vec<_> = (0..points).collect();
        if order.random {
            shuffle(&mut block, &mut random);
        }
        block
    };
    std::iter::repeat_with(block)
        .take(repeats as usize)
        .collect()
}

/// Fisher and Yates: every order is as likely as any other.
fn shuffle(block: &mut [usize], random: &mut SplitMix64) {
    for last in (1..block.len()).rev() {
        block.swap(last, random.below(last + 1));
    }
}

/// SplitMix64 as Sebastiano Vigna published it (<https://prng.di.unimi.it/splitmix64.c>,
/// public domain). Written out, since a seed must give the same order in every
/// version of dyno.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// From 0 to `limit - 1`. The product's upper half is even enough: a study
    /// has thousands of trials, not 2^60.
    fn below(&mut self, limit: usize) -> usize {
        ((u128::from(self.next()) * limit as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        let mut random = SplitMix64(1_234_567);
        let first: Vec<_> = (0..3).map(|_| random.next()).collect();
        assert_eq!(
            first,
            [
                6457827717110365317,
                3203168211198807973,
                9817491932198370423
            ]
        );
    }

    #[test]
    fn every_order_of_three_is_as_likely() {
        let mut counts = std::collections::BTreeMap::new();
        let order = Order {
            random: true,
            seed: 7,
        };
        for block in blocks(3, 6000, order) {
            *counts.entry(block).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|n| (900..1100).contains(n)),
            "{counts:?}"
        );
    }
}
