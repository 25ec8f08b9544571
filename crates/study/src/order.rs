//! The order in which trials run.
//!
//! Trials run in blocks, each of which has every point once. In random order, the variants of a
//! combination of the other keys run in succession, so that comparisons of variants are between
//! trials that are close in time. Their orders are the rows of a Williams design ("Experimental
//! designs balanced for the estimation of residual effects of treatments", Australian Journal of
//! Scientific Research A 2, 1949): over a cycle, each variant runs equally often in each position
//! and equally often right after each other variant. Every second block reverses the one before
//! it: of any two points, each runs first in one of the two blocks, so a linear drift cancels.

use plan::{Order, SplitMix64};

/// The points of the trials in the order in which they run: `repeats` blocks, each with every
/// point once. The number of a point is that of its variant times `combinations`, plus that of
/// its combination of the other keys.
pub(crate) fn blocks(
    variants: usize,
    combinations: usize,
    repeats: u32,
    order: Order,
) -> Vec<Vec<usize>> {
    let mut random = SplitMix64::new(order.seed);
    let mut rows = vec![WilliamsRows::default(); combinations];
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    for repeat in 0..repeats {
        let block = match blocks.last() {
            _ if !order.random => (0..variants * combinations).collect(),
            Some(last) if repeat % 2 == 1 => last.iter().rev().copied().collect(),
            _ => {
                let mut order: Vec<usize> = (0..combinations).collect();
                shuffle(&mut order, &mut random);
                let points = order.into_iter().flat_map(|combination| {
                    let row = rows[combination].next(variants, &mut random).into_iter();
                    row.map(move |variant| variant * combinations + combination)
                });
                points.collect()
            }
        };
        blocks.push(block);
    }
    blocks
}

/// The rows of a Williams design of which none reverses another, in random order. Treatments are
/// renumbered for each cycle.
#[derive(Debug, Clone, Default)]
struct WilliamsRows {
    treatments: Vec<usize>,
    /// Those of the remaining rows of this cycle.
    shifts: Vec<usize>,
}

impl WilliamsRows {
    fn next(&mut self, count: usize, random: &mut SplitMix64) -> Vec<usize> {
        if self.shifts.is_empty() {
            self.treatments = (0..count).collect();
            shuffle(&mut self.treatments, random);
            // For an even number of treatments, half of the rows reverse the other half.
            let rows = if count.is_multiple_of(2) {
                count / 2
            } else {
                count
            };
            self.shifts = (0..rows).collect();
            shuffle(&mut self.shifts, random);
        }
        let shift = self.shifts.pop().unwrap_or_default();
        let places = zigzag(count).map(|place| (place + shift) % count);
        places.map(|place| self.treatments[place]).collect()
    }
}

/// 0, 1, n - 1, 2, n - 2, and so on: the differences between neighbors are all distinct.
fn zigzag(count: usize) -> impl Iterator<Item = usize> {
    (0..count).map(move |place| match place % 2 {
        1 => place.div_ceil(2),
        _ => (count - place / 2) % count,
    })
}

/// The Fisher-Yates shuffle: all orders are equally likely.
fn shuffle(block: &mut [usize], random: &mut SplitMix64) {
    for last in (1..block.len()).rev() {
        block.swap(last, random.below(last + 1));
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const RANDOM: Order = Order {
        random: true,
        seed: 7,
    };

    #[test]
    fn all_orders_of_three_are_equally_likely() {
        let mut counts = BTreeMap::new();
        for block in blocks(1, 3, 6000, RANDOM) {
            *counts.entry(block).or_insert(0) += 1;
        }
        assert_eq!(counts.len(), 6);
        assert!(
            counts.values().all(|n| (900..1100).contains(n)),
            "{counts:?}"
        );
    }

    /// Over a cycle, each variant is in each position, and right after each other variant,
    /// equally often.
    #[test]
    fn variants_are_balanced_over_places_and_neighbors() {
        for variants in 2..=7 {
            let cycle = if variants % 2 == 0 {
                variants
            } else {
                2 * variants
            };
            for seed in 1..=20 {
                let order = Order { random: true, seed };
                let blocks = blocks(variants, 1, 2 * cycle as u32, order);
                for cycle in blocks.chunks(cycle) {
                    let (mut places, mut pairs) = (BTreeMap::new(), BTreeMap::new());
                    for block in cycle {
                        for (place, variant) in block.iter().enumerate() {
                            *places.entry((place, variant)).or_insert(0) += 1;
                        }
                        for pair in block.windows(2) {
                            *pairs.entry((pair[0], pair[1])).or_insert(0) += 1;
                        }
                    }
                    let each = cycle.len() / variants;
                    assert_eq!(places.len(), variants * variants);
                    assert!(places.values().all(|n| *n == each), "{cycle:?}");
                    assert_eq!(pairs.len(), variants * (variants - 1));
                    assert!(pairs.values().all(|n| *n == each), "{cycle:?}");
                }
            }
        }
    }

    /// Of two points, each runs first in one of two blocks, so a drift favors neither.
    #[test]
    fn every_second_block_reverses_the_one_before_it() {
        for seed in 1..=50 {
            let order = Order { random: true, seed };
            for pair in blocks(2, 3, 6, order).chunks(2) {
                let mirrored: Vec<usize> = pair[0].iter().rev().copied().collect();
                assert_eq!(pair[1], mirrored);
            }
            // In five blocks, one of the two runs first two or three times, depending on the seed.
            let first = blocks(2, 1, 5, order).iter().filter(|b| b[0] == 0).count();
            assert!((2..=3).contains(&first), "{first}");
        }
        let first = |seed| blocks(2, 1, 1, Order { random: true, seed })[0][0];
        let firsts = (1..=1000).filter(|seed| first(*seed) == 0).count();
        assert!((430..570).contains(&firsts), "{firsts}");
    }

    /// The variants of a combination run in succession.
    #[test]
    fn what_is_compared_runs_close_in_time() {
        for block in blocks(3, 4, 10, RANDOM) {
            let mut all = block.clone();
            all.sort_unstable();
            assert_eq!(all, (0..12).collect::<Vec<_>>());
            for together in block.chunks(3) {
                let combination = together[0] % 4;
                assert!(together.iter().all(|point| point % 4 == combination));
            }
        }
        let written = Order {
            random: false,
            seed: 7,
        };
        assert_eq!(blocks(2, 2, 2, written), [[0, 1, 2, 3]; 2]);
    }
}
