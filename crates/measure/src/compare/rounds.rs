//! The change between two variants from their turns in one start: a jackknife over rounds (Efron and
//! Stein, "The jackknife estimate of variance", Annals of Statistics 9, 1981).

use super::LogRatio;
use crate::column;
use crate::interval::squares;
use crate::latency::RESOLUTION;
use crate::quantile::is_known;
use crate::slice::SHORTEST_SECOND_NS;
use crate::summary::{TrialSummary, Turn};

/// Fewer rounds hardly show how much rounds vary.
const FEWEST_ROUNDS: usize = 4;
/// Turns of each variant in a round: one in some order, and one in the reverse order.
pub(crate) const TURNS: usize = 2;

/// Values of both sides, their log ratio with its error, and the number of rounds.
type ByRounds = ([f64; 2], LogRatio, usize);

/// Transactions and seconds of both sides.
type Sums = [(f64, f64); 2];

/// Throughput; `None` if both sides completed too few rounds or a side has no transactions.
///
/// A drift cancels within a round, so the errors of rounds are almost independent, although those of
/// turns are not. The ratio is one of sums: the mean of the turns' log ratios is biased if a side stalls.
pub(super) fn by_rounds(sides: [&[Turn]; 2]) -> Option<ByRounds> {
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
    let ratio = jackknife(log_ratio(all), &without, 0.0)?;
    Some((all.map(|(count, s)| count / s), ratio, count))
}

/// Mean or percentile of the response times. `None` if the sides have too few rounds or different
/// numbers of them, or if a group has too few transactions slower than the percentile.
pub(super) fn by_groups(sides: [&TrialSummary; 2], column: &str) -> Option<ByRounds> {
    let turns = sides.map(|trial| trial.turns.len());
    let [base, new] = sides.map(|trial| replicates(trial, column));
    let (base, new) = (base?, new?);
    if turns[0] != turns[1] || base.len() != new.len() || base.len() < FEWEST_ROUNDS {
        return None;
    }
    let without = base.iter().zip(&new).map(|(base, new)| (new / base).ln());
    let without: Vec<f64> = without.collect();
    let [base, new] = sides.map(|trial| column::value(trial, column));
    let (base, new) = (base?.value, new?.value);
    let least_error = column::percentile(column).map_or(0.0, |_| RESOLUTION);
    let ratio = jackknife((new / base).ln(), &without, least_error)?;
    Some(([base, new], ratio, turns[0] / TURNS))
}

fn replicates(trial: &TrialSummary, column: &str) -> Option<Vec<f64>> {
    let all = column::replicates(trial, column)?;
    let of_group = trial.transactions.count / (all.len() as u64).max(1);
    let percentile = column::percentile(column);
    // The histograms merge a shorter turn with the one before it.
    let shortest_s = SHORTEST_SECOND_NS as f64 / 1e9;
    let are_apart = trial.turns.iter().all(|turn| turn.length_s >= shortest_s);
    let are_enough = percentile.is_none_or(|percentile| is_known(of_group, percentile));
    (are_enough && are_apart).then_some(all)
}

/// A log ratio with its standard error, from the log ratios that omit one round or group each.
fn jackknife(ratio: f64, without: &[f64], least_error: f64) -> Option<LogRatio> {
    let n = without.len() as f64;
    let error = ((n - 1.0) / n * squares(without)).sqrt();
    // Checked first, because `max` ignores NaN.
    let is_finite = ratio.is_finite() && error.is_finite();
    let error = error.max(least_error);
    is_finite.then(|| LogRatio {
        mean: ratio,
        error,
        degrees: n - 1.0,
        spread: error * n.sqrt(),
        degrees_per_run: 1.0,
    })
}

fn sums(turns: &[Turn]) -> (f64, f64) {
    let count: u64 = turns.iter().map(|turn| turn.transactions).sum();
    (count as f64, turns.iter().map(|turn| turn.length_s).sum())
}

/// Of new over base.
fn log_ratio([base, new]: Sums) -> f64 {
    (new.0 / new.1).ln() - (base.0 / base.1).ln()
}
