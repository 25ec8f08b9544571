//! Ends a trial early when more time would not change its result.

use std::time::Duration;

use measure::interval::Part;
use measure::setup::Ended;
use measure::slice::{Phase, Second};
use measure::summarize::push_throughput;
use measure::until::is_precise;

use crate::Trial;

/// Number of consecutive seconds in which the backlog must grow; shorter growth may be a stall.
const GROWING_S: usize = 3;

#[derive(Debug)]
pub(crate) struct EarlyStop {
    /// The longest acceptable wait of an arrival. The trial ends once the backlog keeps growing and
    /// arrivals wait longer.
    max_wait: Option<Duration>,
    /// The target precision: half of the confidence interval of the mean throughput, as a share of
    /// the mean. Without `max_wait`, the trial ends once it is reached, but not before `least_s`.
    ci: Option<f64>,
    least_s: f64,
    max_s: f64,
    users: u64,
    warmup: Vec<Part>,
    seconds: Vec<Part>,
    backlogs: Vec<u64>,
    /// The reason for the early end; `None` if there was none.
    pub(crate) ended: Option<Ended>,
}

impl EarlyStop {
    pub(crate) fn new(trial: &Trial) -> Self {
        let load = &trial.planned.load;
        Self {
            max_wait: trial.longest_wait,
            ci: load.until.map(|until| until.ci),
            least_s: load.time.as_secs_f64(),
            max_s: load.longest().map_or(f64::INFINITY, |t| t.as_secs_f64()),
            users: u64::from(load.threads) * u64::from(trial.planned.topology.instances),
            warmup: Vec::new(),
            seconds: Vec::new(),
            backlogs: Vec::new(),
            ended: None,
        }
    }

    /// Adds a second, merged from all loads; returns whether the trial may stop.
    pub(crate) fn observe(&mut self, second: &Second) -> bool {
        if self.max_wait.is_none() && self.ci.is_none() {
            return false;
        }
        match second.phase {
            Phase::Warmup => push_throughput(&mut self.warmup, second),
            Phase::Measure => {
                push_throughput(&mut self.seconds, second);
                if !second.is_partial() {
                    self.backlogs.extend(second.backlog);
                }
                if self.ended.is_none() {
                    self.ended = match self.max_wait {
                        Some(max_wait) => self.overloaded(max_wait),
                        None => self.precise(),
                    };
                }
            }
            Phase::Drain => {}
        }
        self.ended.is_some()
    }

    fn after_s(&self) -> f64 {
        self.seconds.iter().map(|second| second.weight).sum()
    }

    /// Reaching the target precision in the last second is not an early stop.
    fn precise(&self) -> Option<Ended> {
        let (ci, after_s) = (self.ci?, self.after_s());
        let is_precise = || is_precise(ci, self.least_s, &self.warmup, &self.seconds);
        (after_s < self.max_s && is_precise()).then_some(Ended::Sure {
            after_s,
            at_most_s: self.max_s,
            reached: ci,
        })
    }

    /// Detects a backlog that keeps growing, exceeds the number of users, and makes arrivals wait
    /// longer than `max_wait`.
    fn overloaded(&self, max_wait: Duration) -> Option<Ended> {
        let first = self.backlogs.len().checked_sub(GROWING_S + 1)?;
        let (backlogs, seconds) = (self.backlogs.get(first..)?, self.seconds.get(first + 1..)?);
        let backlog = *backlogs.last()?;
        let completed: f64 = seconds.iter().map(|second| second.total).sum();
        let time_s: f64 = seconds.iter().map(|second| second.weight).sum();
        let wait_s = backlog as f64 * time_s / completed;
        let grows = backlogs.windows(2).all(|two| two[0] < two[1]);
        (grows && backlog > self.users && wait_s > max_wait.as_secs_f64()).then(|| {
            Ended::Overloaded {
                after_s: self.after_s(),
                at_most_s: self.max_s,
                backlog,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use measure::slice::Slice;
    use measure::until::FIRST_CHECK_S;

    use super::*;

    fn early(max_wait: Option<Duration>, ci: Option<f64>, least_s: f64) -> EarlyStop {
        EarlyStop {
            max_wait,
            ci,
            least_s,
            max_s: 600.0,
            users: 4,
            warmup: Vec::new(),
            seconds: Vec::new(),
            backlogs: Vec::new(),
            ended: None,
        }
    }

    fn second(transactions: u64, backlog: Option<u64>) -> Second {
        let mut slice = Slice::new(0);
        for _ in 0..transactions {
            slice.response.record(1_000_000);
        }
        Second {
            start_ns: 0,
            end_ns: 1_000_000_000,
            phase: Phase::Measure,
            slice,
            backlog,
            workers: Vec::new(),
        }
    }

    fn stops(mut early: EarlyStop, seconds: impl IntoIterator<Item = Second>) -> Option<usize> {
        let mut seconds = seconds.into_iter();
        seconds
            .position(|second| early.observe(&second))
            .map(|index| index + 1)
    }

    #[test]
    fn a_trial_runs_until_it_is_precise_and_its_minimum_time_is_over() {
        let precise = |ci, least_s| early(None, Some(ci), least_s);
        let steady = |n: u64| second(1000 + (31 * n * n + 7 * n) % 11, None);
        let soon = stops(precise(0.02, 1.0), (0..900).map(steady)).unwrap();
        assert_eq!(soon, FIRST_CHECK_S * 11 / 10);
        let later = stops(precise(0.02, 400.0), (0..900).map(steady)).unwrap();
        assert!((440..=441).contains(&later), "{later}");
        let noisy = |n: u64| second(if n % 7 < 3 { 200 } else { 1000 }, None);
        assert_eq!(stops(precise(0.001, 1.0), (0..900).map(noisy)), None);
        // Ending in the last second would not be early.
        assert_eq!(stops(precise(0.02, 550.0), (0..600).map(steady)), None);
    }

    #[test]
    fn the_warm_up_counts_for_steady_state_but_not_for_precision() {
        let precise = || early(None, Some(0.5), 1.0);
        let of = |phase, n: u64| Second {
            phase,
            ..second(1000 + (31 * n * n + 7 * n) % 11, None)
        };
        let warmup = (0..90).map(|n| of(Phase::Warmup, n));
        assert_eq!(stops(precise(), warmup), None);
        let mut early = precise();
        for n in 0..40 {
            assert!(!early.observe(&of(Phase::Warmup, n)));
        }
        let measured = (0..300).map(|n| of(Phase::Measure, n));
        assert!(stops(early, measured).is_some_and(|second| second >= FIRST_CHECK_S));
    }

    #[test]
    fn a_growing_backlog_stops_a_trial() {
        let early = || early(Some(Duration::from_millis(50)), None, 0.0);
        let growing = (0..10).map(|n| second(1000, Some(100 * n)));
        assert_eq!(stops(early(), growing), Some(4));
        // The backlog stays below the four users.
        let small = (0..10).map(|n| second(1000, Some(n / 3)));
        assert_eq!(stops(early(), small), None);
        // Arrivals wait less than 50 ms.
        let short = (0..10).map(|n| second(1000, Some(10 + n)));
        assert_eq!(stops(early(), short), None);
        // A stall that ended.
        let stall = [0, 0, 900, 1800, 900, 0, 0, 0].map(|n| second(1000, Some(n)));
        assert_eq!(stops(early(), stall), None);
    }
}
