//! The blocks of variants that take turns: their order and lengths.

use std::time::Duration;

use measure::slice::Phase;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use super::TurnsSpec;
use crate::clock::ns;

/// How far a block may be shorter or longer than the mean, as a share of it. With equal lengths,
/// what the host does once a second would always hit the same part of a block.
const JITTER: f64 = 0.2;

/// One turn of a variant. Its times count from its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Block {
    pub(super) variant: u32,
    pub(super) phase: Phase,
    /// The end of what is left out after the switch.
    pub(super) lead_in_ns: u64,
    pub(super) length_ns: u64,
}

/// The blocks of the warm-up, then the measured ones.
///
/// In each round, every variant has two blocks: the variants run in some order, then in the
/// reverse order, so that a linear drift cancels. Every second round reverses the one before it: of
/// two variants, ABBA and BAAB are equally frequent, and which is first is random.
pub(super) fn blocks(spec: &TurnsSpec) -> Vec<Block> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(spec.seed);
    let counted = spec.block.saturating_sub(spec.lead_in);
    let mut blocks = Vec::new();
    for (phase, length) in [(Phase::Warmup, spec.warmup), (Phase::Measure, spec.time)] {
        for variant in order(spec.variants, rounds(length, counted), &mut random) {
            let length = random.random_range(1.0 - JITTER..=1.0 + JITTER);
            blocks.push(Block {
                variant,
                phase,
                lead_in_ns: ns(spec.lead_in),
                length_ns: ns(spec.block.mul_f64(length)),
            });
        }
    }
    blocks
}

/// Number of rounds that measure each variant for at least `length`, given the measured part of a
/// block.
pub fn rounds(length: Duration, counted: Duration) -> usize {
    length.as_nanos().div_ceil(2 * counted.as_nanos()) as usize
}

/// The variants in the order of their blocks.
fn order(variants: u32, rounds: usize, random: &mut Xoshiro256PlusPlus) -> Vec<u32> {
    let mut forth: Vec<u32> = (0..variants).collect();
    let mut all = Vec::new();
    for round in 0..rounds {
        match round % 2 {
            0 => forth.shuffle(random),
            _ => forth.reverse(),
        }
        all.extend(forth.iter().chain(forth.iter().rev()));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(variants: u32, seed: u64) -> TurnsSpec {
        TurnsSpec {
            variants,
            block: Duration::from_secs(1),
            lead_in: Duration::from_millis(100),
            warmup: Duration::from_secs(3),
            time: Duration::from_secs(36),
            seed,
        }
    }

    fn variants(spec: &TurnsSpec, phase: Phase) -> Vec<u32> {
        let blocks = blocks(spec).into_iter();
        let blocks = blocks.filter(|block| block.phase == phase);
        blocks.map(|block| block.variant).collect()
    }

    #[test]
    fn two_variants_alternate_equally_often_in_either_order() {
        let mut firsts = 0;
        for seed in 0..100 {
            // 20 rounds.
            let order = variants(&spec(2, seed), Phase::Measure);
            let rounds: Vec<&[u32]> = order.chunks(4).collect();
            let abba = rounds.iter().filter(|round| **round == [0, 1, 1, 0]);
            let baab = rounds.iter().filter(|round| **round == [1, 0, 0, 1]);
            assert_eq!((abba.count(), baab.count()), (10, 10));
            firsts += order[0];
        }
        assert!((30..70).contains(&firsts), "{firsts}");
    }

    #[test]
    fn more_variants_run_in_an_order_and_then_in_its_reverse() {
        let order = variants(&spec(5, 1), Phase::Measure);
        for round in order.chunks(10) {
            let (forth, back) = round.split_at(5);
            assert!(forth.iter().eq(back.iter().rev()));
            let mut all = forth.to_vec();
            all.sort_unstable();
            assert_eq!(all, [0, 1, 2, 3, 4]);
        }
    }

    /// In floating point, 5.94 / 1.98 is more than 3.
    #[test]
    fn only_what_exceeds_whole_rounds_takes_another_one() {
        let counted = Duration::from_millis(990);
        assert_eq!(rounds(counted * 6, counted), 3);
        assert_eq!(rounds(counted * 6 + Duration::from_nanos(1), counted), 4);
        assert_eq!(rounds(Duration::ZERO, counted), 0);
    }

    #[test]
    fn each_variant_warms_up_in_turns_before_the_measurement() {
        let blocks = blocks(&spec(2, 1));
        let warm = blocks
            .iter()
            .take_while(|block| block.phase == Phase::Warmup);
        // Two rounds of 2 * 0.9 s for each variant.
        assert_eq!(warm.count(), 8);
        assert_eq!(blocks.len(), 8 + 80);
    }

    #[test]
    fn lengths_vary_about_the_mean_and_depend_on_the_seed() {
        let lengths = |seed| -> Vec<u64> {
            let blocks = blocks(&spec(2, seed)).into_iter();
            blocks.map(|block| block.length_ns).collect()
        };
        let of_one = lengths(1);
        assert!(
            of_one
                .iter()
                .all(|ns| (800_000_000..=1_200_000_000).contains(ns))
        );
        let mean = of_one.iter().sum::<u64>() / of_one.len() as u64;
        assert!((960_000_000..1_040_000_000).contains(&mean), "{mean}");
        assert_eq!(of_one, lengths(1));
        assert_ne!(of_one, lengths(2));
    }
}
