//! The open loop: when transactions are due, whether anybody is free or not.
//!
//! A free user takes the next arrival and waits until it is due. Nothing is ever
//! queued in memory: an arrival that nobody took yet is one that the schedule has
//! not handed out, so overload costs nothing and shows as a backlog.

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::spec::Arrivals;

const NS_PER_S: f64 = 1e9;

/// One worker's share of an open loop's arrivals, on the load's clock.
#[derive(Debug)]
pub(crate) struct Schedule {
    /// Hands out.
    taken: Cursor,
    /// Counts what is due; the same sequence.
    due: Cursor,
}

#[derive(Debug, Clone)]
struct Cursor {
    arrivals: Arrivals,
    gap_ns: f64,
    next_ns: f64,
    passed: u64,
    rng: Xoshiro256PlusPlus,
}

impl Schedule {
    /// Arrivals from `start_ns` on, `per_s` of them in a second; the first comes
    /// the share `offset` of a gap later.
    pub(crate) fn new(
        arrivals: Arrivals,
        per_s: f64,
        start_ns: u64,
        offset: f64,
        seed: u64,
    ) -> Self {
        let gap_ns = NS_PER_S / per_s;
        let mut first = Cursor {
            arrivals,
            gap_ns,
            next_ns: start_ns as f64 + gap_ns * offset,
            passed: 0,
            rng: Xoshiro256PlusPlus::seed_from_u64(seed),
        };
        if arrivals == Arrivals::Poisson {
            first.next_ns = start_ns as f64 + first.gap();
        }
        Self {
            taken: first.clone(),
            due: first,
        }
    }

    /// The instant of the next arrival that nobody took, in nanoseconds.
    pub(crate) fn take(&mut self) -> u64 {
        self.taken.advance() as u64
    }

    /// Arrivals that are due at `now_ns` and nobody took.
    pub(crate) fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.due.next_ns <= now_ns as f64 {
            self.due.advance();
        }
        self.due.passed.saturating_sub(self.taken.passed)
    }
}

impl Cursor {
    fn advance(&mut self) -> f64 {
        let at = self.next_ns;
        self.next_ns += self.gap();
        self.passed += 1;
        at
    }

    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.gap_ns,
            // Inversion; 1 - u is never 0.
            Arrivals::Poisson => -(1.0 - self.rng.random::<f64>()).ln() * self.gap_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    #[test]
    fn constant_arrivals_come_at_equal_distances() {
        let mut schedule = Schedule::new(Arrivals::Constant, 4.0, 1000, 0.5, 1);
        let instants: Vec<_> = (0..3).map(|_| schedule.take()).collect();
        assert_eq!(instants, [125_001_000, 375_001_000, 625_001_000]);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_spread_of_independent_customers() {
        let seed = 7;
        println!("seed {seed}");
        let mut schedule = Schedule::new(Arrivals::Poisson, 1000.0, 0, 0.0, seed);
        let instants: Vec<f64> = (0..100_000).map(|_| schedule.take() as f64).collect();
        let gaps: Vec<f64> = instants.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // For exponential gaps mean and standard deviation are equal.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn what_is_due_and_not_taken_is_the_backlog() {
        let mut schedule = Schedule::new(Arrivals::Poisson, 100.0, 0, 0.0, 3);
        let due = schedule.backlog(10 * SECOND_NS);
        assert!((800..1200).contains(&due), "{due}");
        for _ in 0..50 {
            schedule.take();
        }
        assert_eq!(schedule.backlog(10 * SECOND_NS), due - 50);
        // Arrivals taken ahead of their time are no negative backlog.
        for _ in 0..due {
            schedule.take();
        }
        assert_eq!(schedule.backlog(10 * SECOND_NS), 0);
    }
}
