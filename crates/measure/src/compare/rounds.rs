//! The change between two variants from their turns in one start: a jackknife over rounds (Efron and
//! Stein, "The jackknife estimate of variance", Annals of Statistics 9, 1981).

use super::{LogRatio, mean};
use crate::summary::Turn;

/// Fewer rounds hardly show how much rounds vary.
const FEWEST_ROUNDS: usize = 4;
/// Turns of each variant in a round: one in some order, and one in the reverse order.
const TURNS: usize = 2;

/// Transactions and seconds of both sides.
type Sums = [(f64, f64); 2];

/// Throughput of both sides, their log ratio with its error, and the number of rounds; `None` if both
/// sides completed too few rounds or a side has no transactions.
///
/// A drift cancels within a round, so the errors of rounds are almost independent, although those of
/// turns are not. The ratio is one of sums: the mean of the turns' log ratios is biased if a side stalls.
pub(super) fn by_rounds(sides: [&[Turn]; 2]) -> Option<([f64; 2], LogRatio, usize)> {
    let [base, new] = sides.map(|turns| turns.chunks_exact(TURNS).map(sums));
    let rounds: Vec<Sums> = base.zip(new).map(|(base, new)| [base, new]).collect();
    let count = rounds.len();
    if count < FEWEST_ROUNDS {
        return None;
    }
    let add = |(a, b): (f64, f64), (c, d): (f64, f64)| (a + c, b + d);
    let all = [0, 1].map(|side| rounds.iter().map(|round| round[side]).fold((0.0, 0.0), add));
    let without = |round: &Sums| {
        let left = |side: usize| add(all[side], (-round[side].0, -round[side].1));
        log_ratio([left(0), left(1)])
    };
    let without: Vec<f64> = rounds.iter().map(without).collect();
    let (n, middle) = (count as f64, mean(&without));
    let squares: f64 = without.iter().map(|one| (one - middle).powi(2)).sum();
    let error = ((n - 1.0) / n * squares).sqrt();
    let ratio = LogRatio {
        mean: log_ratio(all),
        error,
        degrees: n - 1.0,
        spread: error * n.sqrt(),
        degrees_per_run: 1.0,
    };
    let is_known = ratio.mean.is_finite() && error.is_finite();
    is_known.then(|| (all.map(|(count, s)| count / s), ratio, count))
}

fn sums(turns: &[Turn]) -> (f64, f64) {
    let count: u64 = turns.iter().map(|turn| turn.transactions).sum();
    (count as f64, turns.iter().map(|turn| turn.length_s).sum())
}

/// Of new over base.
fn log_ratio([base, new]: Sums) -> f64 {
    (new.0 / new.1).ln() - (base.0 / base.1).ln()
}
