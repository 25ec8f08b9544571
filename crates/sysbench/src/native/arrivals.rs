//! When events are due at a rate: Poisson arrivals, which all threads share.

use std::time::Duration;

use super::random::Random;

/// How many due events may wait for a thread; sysbench gives up on more.
pub(crate) const QUEUE_LIMIT: u64 = 131_072;

/// The arrivals of a run. None is stored, however many wait.
#[derive(Debug)]
pub(crate) struct Arrivals {
    next: Sequence,
    /// The same sequence up to the present, which counts what is due.
    due: Sequence,
    executed: u64,
}

#[derive(Debug, Clone)]
struct Sequence {
    random: Random,
    mean_gap_s: f64,
    next_s: f64,
    count: u64,
}

impl Arrivals {
    /// `per_s` is positive.
    pub(crate) fn new(per_s: u32, seed: u64) -> Self {
        let next = Sequence {
            random: Random::new(seed, u32::MAX),
            mean_gap_s: 1.0 / f64::from(per_s),
            next_s: 0.0,
            count: 0,
        };
        Self {
            due: next.clone(),
            next,
            executed: 0,
        }
    }

    /// When the next event is due, since the start. It belongs to the caller.
    pub(crate) fn take(&mut self) -> Duration {
        Duration::from_secs_f64(self.next.advance())
    }

    /// How many due events wait for a thread, and how many are being executed. `executed` have
    /// ended since the last call.
    pub(crate) fn queue(&mut self, now: Duration, executed: u64) -> (u64, u64) {
        self.executed += executed;
        let enough = self.next.count.saturating_add(QUEUE_LIMIT);
        while self.due.next_s <= now.as_secs_f64() && self.due.count <= enough {
            self.due.advance();
        }
        let taken = self.due.count.min(self.next.count);
        (self.due.count - taken, taken.saturating_sub(self.executed))
    }
}

impl Sequence {
    fn advance(&mut self) -> f64 {
        let arrival_s = self.next_s;
        // 1 - u is never 0.
        self.next_s -= (1.0 - self.random.unit()).ln() * self.mean_gap_s;
        self.count += 1;
        arrival_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrivals_have_the_rate_and_the_spread_of_independent_customers() {
        let mut arrivals = Arrivals::new(1000, 7);
        let due: Vec<f64> = (0..100_000).map(|_| arrivals.take().as_secs_f64()).collect();
        let gaps: Vec<f64> = due.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let squares = gaps.iter().map(|gap| (gap - mean).powi(2));
        let deviation = (squares.sum::<f64>() / gaps.len() as f64).sqrt();
        // For exponential gaps mean and standard deviation are equal.
        assert!((mean * 1000.0 - 1.0).abs() < 0.02, "{mean}");
        assert!((deviation / mean - 1.0).abs() < 0.02, "{deviation}");
    }

    #[test]
    fn what_is_due_waits_until_it_is_taken() {
        let mut arrivals = Arrivals::new(100, 3);
        let now = Duration::from_secs(10);
        let (all, executing) = arrivals.queue(now, 0);
        assert_eq!(executing, 0);
        assert!((800..1200).contains(&all), "{all}");
        for _ in 0..50 {
            assert!(arrivals.take() <= now);
        }
        assert_eq!(arrivals.queue(now, 30), (all - 50, 20));
        for _ in 50..all + 3 {
            arrivals.take();
        }
        // Three threads wait for events of the future.
        assert_eq!(arrivals.queue(now, all - 31), (0, 1));
    }

    #[test]
    fn a_queue_beyond_the_limit_is_not_counted_to_its_end() {
        let mut arrivals = Arrivals::new(u32::MAX, 1);
        let (waiting, _) = arrivals.queue(Duration::from_secs(1_000_000), 0);
        assert_eq!(waiting, QUEUE_LIMIT + 1);
    }
}
