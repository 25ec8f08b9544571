//! Confidence intervals of a trial's percentiles.
//!
//! Woodruff's interval ("Confidence intervals for medians and other position measures", Journal of
//! the American Statistical Association 47, 1952): the share of transactions that are slower than
//! the percentile is a mean like any other, so its interval is known on seconds that depend on each
//! other (see `interval.rs`), and both its ends are looked up in the trial's histogram. That assumes
//! no distribution of times, and needs no second pass over the run. Order statistics, which assume
//! independent transactions, are the lower bound. The percentile is known only at the end, so
//! histograms are kept: of at most 32 stretches, which double in length whenever there are more.

use serde::{Deserialize, Serialize};

use crate::interval::{Part, half_width, student_t};
use crate::latency::{Buckets, Latency, LatencySummary, TotalLatency, ms};

const MOST: usize = 32;
/// Maximum number of groups of a jackknife. Omitting single transactions underestimates the error of a
/// percentile; omitting large groups does not (Shao and Wu, "A general theory for jackknife
/// variance estimation", Annals of Statistics 17, 1989).
pub(crate) const GROUPS: usize = 8;
/// Minimum number of transactions that must be slower than a percentile.
pub const FEWEST_SLOWER: f64 = 10.0;

/// Whether enough of `transactions` transactions are slower than a percentile (0 to 1) for a
/// reliable value.
pub fn is_known(transactions: u64, percentile: f64) -> bool {
    transactions as f64 * (1.0 - percentile) >= FEWEST_SLOWER
}

/// A 95 % confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Range {
    pub low: f64,
    pub high: f64,
}

/// Histograms of equally long stretches of a run, in the order of time.
#[derive(Debug, Clone)]
pub(crate) struct Stretches {
    length: usize,
    full: Vec<Buckets>,
    /// The stretch that is being filled, and its number of seconds so far.
    filling: (TotalLatency, usize),
}

impl Stretches {
    pub(crate) fn new() -> Self {
        Self {
            length: 1,
            full: Vec::new(),
            filling: (TotalLatency::default(), 0),
        }
    }

    pub(crate) fn add(&mut self, second: &Latency) {
        self.filling.0.accumulate(second);
        self.filling.1 += 1;
        if self.filling.1 < self.length {
            return;
        }
        if self.full.len() == MOST {
            self.double();
            return;
        }
        let (full, _) = std::mem::take(&mut self.filling);
        self.full.push(Buckets::of(&full));
    }

    /// Adds the rest of a phase, which is shorter than a second, to the last second.
    pub(crate) fn extend(&mut self, rest: &Latency) {
        match (self.filling.1, self.full.last_mut()) {
            (0, Some(last)) => {
                let mut longer = TotalLatency::default();
                last.add_to(&mut longer);
                longer.accumulate(rest);
                *last = Buckets::of(&longer);
            }
            _ => self.filling.0.accumulate(rest),
        }
    }

    /// Merges neighbors. The stretch that is being filled is half full afterward.
    fn double(&mut self) {
        let pairs = self.full.chunks(2).map(|pair| {
            let mut both = TotalLatency::default();
            pair.iter().for_each(|one| one.add_to(&mut both));
            Buckets::of(&both)
        });
        self.full = pairs.collect();
        self.length *= 2;
    }

    /// The interval of the `quantile` (0 to 1) of `all` response times of the run, in milliseconds.
    /// `None` if too little was measured.
    pub(crate) fn range_ms(&self, all: &TotalLatency, quantile: f64) -> Option<Range> {
        let value_ns = all.quantile_ns(quantile)?;
        let parts = self.full.iter().map(|part| slower(part, value_ns));
        let half = half_width(&parts.collect::<Vec<_>>())?;
        let half = half.max(independent(quantile, all.count()));
        let (low, high) = (quantile - half, quantile + half);
        let slower = (1.0 - quantile) * all.count() as f64;
        if low <= 0.0 || high >= 1.0 || slower < FEWEST_SLOWER {
            return None;
        }
        Some(Range {
            low: ms(all.quantile_ns(low)?),
            high: ms(all.quantile_ns(high)?),
        })
    }

    /// Jackknife replicates: the response times of the whole run, each without one group of adjacent
    /// rounds. A round has `round` seconds. Empty if there is only one round.
    pub(crate) fn replicates(&self, round: usize) -> Vec<LatencySummary> {
        let filling = (self.filling.1 > 0).then(|| Buckets::of(&self.filling.0));
        let stretches: Vec<&Buckets> = self.full.iter().chain(&filling).collect();
        let rounds: Vec<_> = stretches.chunks((round / self.length).max(1)).collect();
        let (count, groups) = (rounds.len(), rounds.len().min(GROUPS));
        let without = |group: usize| {
            let left_out = group * count / groups..(group + 1) * count / groups;
            let mut rest = TotalLatency::default();
            for round in rounds[..left_out.start]
                .iter()
                .chain(&rounds[left_out.end..])
            {
                round.iter().for_each(|part| part.add_to(&mut rest));
            }
            LatencySummary::of(&rest, None)
        };
        let all: Option<Vec<_>> = (0..groups).map(without).collect();
        all.unwrap_or_default()
    }
}

/// The share of a stretch's transactions that took longer.
fn slower(stretch: &Buckets, value_ns: u64) -> Part {
    let total = stretch.count_above(value_ns) as f64;
    Part {
        total,
        weight: stretch.count() as f64,
    }
}

/// Half width of the share's interval if transactions were independent.
fn independent(quantile: f64, count: u64) -> f64 {
    let degrees = count.saturating_sub(1) as f64;
    student_t(degrees) * (quantile * (1.0 - quantile) / count as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: u64) -> Latency {
        let mut latency = Latency::new();
        for i in 0..100 {
            latency.record(1_000_000 * (1 + (i * 37 + number * 11) % 100));
        }
        latency
    }

    #[test]
    fn stretches_stay_few_and_lose_nothing() {
        let (mut stretches, mut all) = (Stretches::new(), TotalLatency::default());
        for number in 0..1000 {
            stretches.add(&second(number));
            all.accumulate(&second(number));
            assert!(stretches.full.len() <= MOST);
        }
        assert_eq!(stretches.length, 32);
        assert!(stretches.full.iter().all(|full| full.count() == 3200));
        let mut kept = stretches.filling.0.clone();
        stretches
            .full
            .iter()
            .for_each(|full| full.add_to(&mut kept));
        assert_eq!(kept, all);
    }

    #[test]
    fn the_range_holds_the_percentile_and_is_refused_where_it_would_guess() {
        let (mut stretches, mut all) = (Stretches::new(), TotalLatency::default());
        for number in 0..60 {
            if number == 9 {
                assert_eq!(stretches.range_ms(&all, 0.99), None);
            }
            stretches.add(&second(number));
            all.accumulate(&second(number));
        }
        // All seconds are alike, so the interval is that of 6,000 independent transactions: 0.95 +-
        // 1.9604 sqrt(0.95 * 0.05 / 6000) = 0.94448 to 0.95552.
        let range = stretches.range_ms(&all, 0.95).unwrap();
        assert!((range.low - 95.0).abs() < 0.1, "{range:?}");
        assert!((range.high - 96.0).abs() < 0.1, "{range:?}");
        assert_eq!(stretches.range_ms(&all, 0.9999), None);
    }

    #[test]
    fn each_replicate_lacks_a_group_of_whole_rounds() {
        let means = |seconds: u64| {
            let mut stretches = Stretches::new();
            for number in 1..=seconds {
                let mut second = Latency::new();
                (0..100).for_each(|_| second.record(1_000_000 * number));
                stretches.add(&second);
            }
            let all = stretches.replicates(2).into_iter();
            all.map(|times| times.mean.value).collect::<Vec<_>>()
        };
        // Without seconds 1 to 2, 3 to 4, 5 to 6, and 7, which is half a round.
        let expected = [25.0 / 5.0, 21.0 / 5.0, 17.0 / 5.0, 21.0 / 6.0];
        assert_eq!(means(7).len(), expected.len());
        for (found, expected) in means(7).into_iter().zip(expected) {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        }
        // With 66 seconds, 16 stretches of four are followed by one of two.
        for seconds in [64, 66] {
            let found = means(seconds);
            let sum = (seconds * (seconds + 1) / 2) as f64;
            let without_first = (sum - 36.0) / (seconds - 8) as f64;
            assert_eq!(found.len(), 8);
            assert!((found[0] - without_first).abs() < 1e-9, "{found:?}");
        }
        let few = [0, 1, 2, 3].map(|seconds| means(seconds).len());
        assert_eq!(few, [0, 0, 0, 2]);
    }
}
