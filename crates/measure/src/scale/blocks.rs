//! Removes block effects, such as the speed of the host at the time, from the trials of a study.
//!
//! Noise of throughput is multiplicative, so everything is on logarithms: that of a trial is the
//! sum of a term of its size, one of its block, and noise. Both kinds of terms are fitted by
//! least squares, whatever the law, alternately until nothing moves (two-way analysis of
//! variance: Box, Hunter and Hunter, *Statistics for Experimenters*), so blocks may be
//! incomplete. The laws are then fitted to the data without the block effects.

use std::collections::BTreeMap;

use super::Observation;
use crate::interval::{mean, variance};

/// Rounds of the alternating fit; complete blocks need one.
const ROUNDS: usize = 200;

pub(super) struct Adjusted {
    /// Size, and logarithm of throughput.
    pub(super) points: Vec<(f64, f64)>,
    /// Number of blocks beyond the first: the degrees of freedom of their terms.
    pub(super) fitted: usize,
    /// Standard error of the common level of all trials due to blocks, as a share of it.
    pub(super) level_error: f64,
}

pub(super) fn adjusted(points: &[Observation]) -> Adjusted {
    let logs: Vec<f64> = points.iter().map(|point| point.per_s.ln()).collect();
    let mut of_block: BTreeMap<u32, f64> = points.iter().map(|point| (point.block, 0.0)).collect();
    for _ in 0..ROUNDS {
        let without_block = points.iter().zip(&logs);
        let without_block =
            without_block.map(|(point, log)| (point.size.to_bits(), log - of_block[&point.block]));
        let of_size = means(without_block);
        let without_size = points.iter().zip(&logs);
        let without_size =
            without_size.map(|(point, log)| (point.block, log - of_size[&point.size.to_bits()]));
        let next = means(without_size);
        let terms: Vec<f64> = next.values().copied().collect();
        let level = mean(&terms);
        of_block = next
            .into_iter()
            .map(|(block, term)| (block, term - level))
            .collect();
    }
    let terms: Vec<f64> = of_block.values().copied().collect();
    let count = terms.len();
    let left = points.iter().zip(logs);
    Adjusted {
        points: left
            .map(|(point, log)| (point.size, log - of_block[&point.block]))
            .collect(),
        fitted: count - 1,
        level_error: match count {
            1 => 0.0,
            _ => (variance(&terms, 0.0) / count as f64).sqrt(),
        },
    }
}

fn means<K: Ord>(values: impl Iterator<Item = (K, f64)>) -> BTreeMap<K, f64> {
    let mut sums: BTreeMap<K, (f64, f64)> = BTreeMap::new();
    for (key, value) in values {
        let sum = sums.entry(key).or_default();
        *sum = (sum.0 + value, sum.1 + 1.0);
    }
    sums.into_iter()
        .map(|(key, (sum, count))| (key, sum / count))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each block lacks another size. The terms of sizes and blocks are still found exactly.
    #[test]
    fn what_a_block_shares_is_taken_out_even_if_it_lacks_a_trial() {
        let blocks = [(1, 1.3), (2, 0.8), (3, 1.0 / 1.3 / 0.8)];
        let all = blocks.iter().flat_map(|(block, pace)| {
            let sizes = (1..=6).filter(move |size| size % 4 != *block);
            sizes.map(move |size| Observation {
                size: f64::from(size),
                per_s: 100.0 * f64::from(size) * pace,
                half_width: None,
                block: *block,
            })
        });
        let found = adjusted(&all.collect::<Vec<_>>());
        assert_eq!(found.fitted, 2);
        for (size, log) in found.points {
            assert!(
                (log.exp() / (100.0 * size) - 1.0).abs() < 1e-9,
                "{size}: {}",
                log.exp()
            );
        }
        assert!(found.level_error > 0.1);
    }
}
