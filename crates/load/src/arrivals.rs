//! The open loop: when transactions are due, whether or not a user is free.
//!
//! All workers of a load share one [`ArrivalQueue`], so the open loop is a single FIFO queue with
//! one server per virtual user, however many threads run them. A free user starts the oldest
//! arrival that is due. If none is due, it sleeps until the next arrival for which no other idle
//! user will wake up, and then checks again: it holds a wake-up time, never an arrival. A late
//! worker therefore delays no arrival that a user of another worker could start.
//!
//! Due arrivals are not stored, so overload needs no memory.

use std::collections::VecDeque;
use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use plan::Arrivals;

use crate::schedule::Schedule;
use crate::spec::Part;

/// The arrivals of an open loop, on the load's clock.
#[derive(Debug)]
pub(crate) struct ArrivalQueue {
    /// Arrivals for which idle users will wake up, oldest first: at most one per user.
    awaited: VecDeque<u64>,
    /// The arrivals after the awaited ones.
    next: ArrivalSequence,
    /// The whole sequence from its start, for counting the arrivals that are due.
    due: ArrivalSequence,
    started: u64,
    /// Arrivals that are due from then on do not start.
    pub(crate) end_ns: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NextAction {
    /// Start the arrival that was due at `due_ns`.
    Start {
        due_ns: u64,
        /// Whether a user was idle when the arrival was due, so that only the load generator can
        /// have delayed it.
        was_awaited: bool,
    },
    /// No arrival is due: check again at this time.
    Sleep { until_ns: u64 },
}

#[derive(Debug, Clone)]
struct ArrivalSequence {
    arrivals: Arrivals,
    rate: Arc<Schedule>,
    /// The integral of the rate up to the next arrival.
    expected: f64,
    next_ns: u64,
    count: u64,
    /// Expected arrivals of all parts for each one of this part.
    stride: f64,
    rng: Xoshiro256PlusPlus,
}

impl ArrivalQueue {
    /// Arrivals at a rate per second, of which it has one part: constant ones take turns, and the
    /// parts of a Poisson process are Poisson processes.
    pub(crate) fn new(arrivals: Arrivals, rate: Schedule, seed: u64, part: Part) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The parts' random numbers do not overlap.
        (0..part.number).for_each(|_| rng.jump());
        let mut first = ArrivalSequence {
            arrivals,
            rate: Arc::new(rate),
            expected: 0.0,
            next_ns: 0,
            count: 0,
            stride: part.of.into(),
            rng,
        };
        let gap = match arrivals {
            // Half a gap, so that a whole number of seconds has the expected number of arrivals.
            Arrivals::Constant => 0.5 + f64::from(part.number),
            Arrivals::Poisson => first.gap(),
        };
        first.skip(gap);
        Self {
            awaited: VecDeque::new(),
            next: first.clone(),
            due: first,
            started: 0,
            end_ns: u64::MAX,
        }
    }

    /// What a user does next that is free at `now_ns`.
    pub(crate) fn take(&mut self, now_ns: u64) -> NextAction {
        let oldest_ns = self.awaited.front().copied();
        let due_ns = oldest_ns.unwrap_or(self.next.next_ns);
        if due_ns >= self.end_ns {
            return NextAction::Sleep { until_ns: u64::MAX };
        }
        if due_ns <= now_ns {
            if self.awaited.pop_front().is_none() {
                self.next.advance();
            }
            self.started += 1;
            return NextAction::Start {
                due_ns,
                was_awaited: oldest_ns.is_some(),
            };
        }
        let until_ns = self.next.advance();
        self.awaited.push_back(until_ns);
        NextAction::Sleep { until_ns }
    }

    /// Arrivals that are due at `now_ns` but not started.
    pub(crate) fn backlog(&mut self, now_ns: u64) -> u64 {
        while self.due.next_ns <= now_ns && self.due.next_ns < self.end_ns {
            self.due.advance();
        }
        self.due.count.saturating_sub(self.started)
    }
}

impl ArrivalSequence {
    /// Returns the next arrival and advances.
    fn advance(&mut self) -> u64 {
        let at_ns = self.next_ns;
        let gap = self.gap();
        self.skip(gap);
        self.count += 1;
        at_ns
    }

    /// Sets the next arrival to where the integral of the rate has grown by `gap`.
    fn skip(&mut self, gap: f64) {
        self.expected += gap;
        self.next_ns = self.rate.filled_ns(self.expected);
    }

    /// A process with the gaps of one arrival per second: with the integral of a rate as its clock,
    /// it has that rate, however it changes.
    fn gap(&mut self) -> f64 {
        match self.arrivals {
            Arrivals::Constant => self.stride,
            // Inverse transform sampling; 1 - u is never 0.
            Arrivals::Poisson => -(1.0 - self.rng.random::<f64>()).ln() * self.stride,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    /// The arrivals in order; all of them must be due.
    fn instants(queue: &mut ArrivalQueue, count: usize) -> Vec<u64> {
        let mut take = || match queue.take(u64::MAX) {
            NextAction::Start { due_ns, .. } => due_ns,
            NextAction::Sleep { .. } => unreachable!("everything is due"),
        };
        (0..count).map(|_| take()).collect()
    }

    fn whole(arrivals: Arrivals, rate: Schedule, seed: u64) -> ArrivalQueue {
        ArrivalQueue::new(arrivals, rate, seed, Part::WHOLE)
    }

    #[test]
    fn constant_arrivals_are_evenly_spaced() {
        let mut queue = whole(Arrivals::Constant, Schedule::constant(4.0, 1000), 1);
        let expected = [125_001_000, 375_001_000, 625_001_000];
        assert_eq!(instants(&mut queue, 3), expected);
    }

    #[test]
    fn poisson_arrivals_have_the_rate_and_spread_of_independent_customers() {
        let seed = 7;
        println!("seed {seed}");
        let mut queue = whole(Arrivals::Poisson, Schedule::constant(1000.0, 0), seed);
        let instants = instants(&mut queue, 100_000);
        let gaps: Vec<f64> = instants.windows(2).map(|p| (p[1] - p[0]) as f64).collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        // For exponential gaps mean and standard deviation are equal.
        assert!((mean / 1e6 - 1.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.02, "{variance}");
    }

    #[test]
    fn the_parts_of_constant_arrivals_are_the_whole() {
        let phases: plan::Phases = "2s 40..400/s, 1s 100/s".parse().unwrap();
        let rate = || Schedule::of(&phases, std::time::Duration::from_secs(1), 7);
        let of = |part| ArrivalQueue::new(Arrivals::Constant, rate(), 1, part);
        let parts = (0..3).map(|number| Part { number, of: 3 });
        let mut together: Vec<u64> = parts
            .flat_map(|part| instants(&mut of(part), 200))
            .collect();
        together.sort_unstable();
        assert_eq!(together, instants(&mut of(Part::WHOLE), 600));
    }

    #[test]
    fn the_parts_of_poisson_arrivals_differ_and_have_the_rate_together() {
        let count = 20_000;
        let part = |number| {
            let part = Part { number, of: 4 };
            let rate = Schedule::constant(1000.0, 0);
            instants(
                &mut ArrivalQueue::new(Arrivals::Poisson, rate, 9, part),
                count,
            )
        };
        let parts: Vec<Vec<u64>> = (0..4).map(part).collect();
        for (number, part) in parts.iter().enumerate() {
            let per_s = count as f64 / (part[count - 1] as f64 / 1e9);
            assert!((per_s / 250.0 - 1.0).abs() < 0.03, "part {number}: {per_s}");
            assert!(parts[..number].iter().all(|other| other != part));
        }
    }

    #[test]
    fn due_arrivals_that_did_not_start_are_the_backlog() {
        let mut queue = whole(Arrivals::Poisson, Schedule::constant(100.0, 0), 3);
        let now_ns = 10 * SECOND_NS;
        let due = queue.backlog(now_ns);
        assert!((800..1200).contains(&due), "{due}");
        for _ in 0..50 {
            assert!(matches!(queue.take(now_ns), NextAction::Start { .. }));
        }
        assert_eq!(queue.backlog(now_ns), due - 50);
        for _ in 50..due {
            assert!(matches!(queue.take(now_ns), NextAction::Start { .. }));
        }
        // Future arrivals are not part of the backlog.
        assert!(matches!(queue.take(now_ns), NextAction::Sleep { .. }));
        assert_eq!(queue.backlog(now_ns), 0);
    }

    #[test]
    fn the_first_user_to_wake_starts_the_oldest_due_arrival() {
        let mut queue = whole(Arrivals::Constant, Schedule::constant(1000.0, 0), 1);
        let sleep = |until_ns| NextAction::Sleep { until_ns };
        let start = |due_ns, was_awaited| NextAction::Start {
            due_ns,
            was_awaited,
        };
        // Two idle users; the first one's worker stalls.
        assert_eq!(queue.take(0), sleep(500_000));
        assert_eq!(queue.take(0), sleep(1_500_000));
        // A user that becomes free takes the first user's arrival.
        assert_eq!(queue.take(600_000), start(500_000, true));
        // The second user takes the next arrival.
        assert_eq!(queue.take(1_500_000), start(1_500_000, true));
        // The first user is too late and waits for the one after that.
        assert_eq!(queue.take(2_000_000), sleep(2_500_000));
        // No user was idle when the last one was due.
        assert_eq!(queue.take(3_600_000), start(2_500_000, true));
        assert_eq!(queue.take(3_600_000), start(3_500_000, false));
    }
}
