//! Ends a trial early when more time would not change its result.

use std::time::Duration;

use measure::ended::{Ended, Until};
use measure::gather::push_throughput;
use measure::interval::Part;
use measure::slice::{Phase, Second};
use measure::until::sure;

use crate::trial::Trial;

/// When a trial may end before its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum StopRule {
    /// When the mean throughput is precise enough.
    Sure(Until),
    /// When arrivals clearly exceed completions.
    Overloaded {
        /// The longest acceptable wait.
        longest: Duration,
    },
}

/// Seconds in a row in which a backlog must grow to be more than a stall.
const GROWING: usize = 3;

/// Follows the seconds of a trial.
#[derive(Debug)]
pub(crate) struct EarlyStop {
    rule: Option<StopRule>,
    at_most_s: f64,
    users: u64,
    warmup: Vec<Part>,
    seconds: Vec<Part>,
    backlogs: Vec<u64>,
    ended: Option<Ended>,
}

impl EarlyStop {
    pub(crate) fn new(trial: &Trial) -> Self {
        let load = &trial.planned.load;
        let overloaded = |longest| StopRule::Overloaded { longest };
        let rule = trial.longest_wait.map(overloaded);
        Self {
            rule: rule.or_else(|| Until::of(load).map(StopRule::Sure)),
            at_most_s: load.longest().map_or(f64::INFINITY, |t| t.as_secs_f64()),
            users: u64::from(load.threads) * u64::from(trial.planned.topology.instances),
            warmup: Vec::new(),
            seconds: Vec::new(),
            backlogs: Vec::new(),
            ended: None,
        }
    }

    /// Why the trial ended early.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// Adds a second of all loads together; returns whether the trial may end.
    pub(crate) fn observe(&mut self, second: &Second) -> bool {
        let Some(rule) = self.rule else {
            return false;
        };
        match second.phase {
            Phase::Warmup => push_throughput(&mut self.warmup, second),
            Phase::Measure => {
                push_throughput(&mut self.seconds, second);
                if !second.is_partial() {
                    self.backlogs.extend(second.backlog);
                }
                if self.ended.is_none() {
                    self.ended = match rule {
                        StopRule::Sure(until) => self.sure(&until),
                        StopRule::Overloaded { longest } => self.overloaded(longest),
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

    /// Precision that is reached only in the last second is no reason to end early.
    fn sure(&self, until: &Until) -> Option<Ended> {
        let after_s = self.after_s();
        let reached = sure(until, &self.warmup, &self.seconds)?;
        (after_s < self.at_most_s).then_some(Ended::Sure {
            after_s,
            at_most_s: self.at_most_s,
            reached,
        })
    }

    /// A backlog that keeps growing, is not explained by the number of users, and delays every
    /// transaction beyond the limit.
    fn overloaded(&self, longest: Duration) -> Option<Ended> {
        let last = self.backlogs.len().checked_sub(GROWING + 1)?;
        let (backlogs, seconds) = (self.backlogs.get(last..)?, self.seconds.get(last + 1..)?);
        let backlog = *backlogs.last()?;
        let done: f64 = seconds.iter().map(|second| second.total).sum();
        let time_s: f64 = seconds.iter().map(|second| second.weight).sum();
        let wait_s = backlog as f64 * time_s / done;
        let grows = backlogs.windows(2).all(|two| two[0] < two[1]);
        (grows && backlog > self.users && wait_s > longest.as_secs_f64()).then(|| {
            Ended::Overloaded {
                after_s: self.after_s(),
                at_most_s: self.at_most_s,
                backlog,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use measure::slice::Slice;
    use measure::until::FIRST_LOOK;

    use super::*;

    fn early(rule: StopRule) -> EarlyStop {
        EarlyStop {
            rule: Some(rule),
            at_most_s: 60.0,
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

    /// After how many seconds the trial may end.
    fn ends(mut early: EarlyStop, seconds: impl IntoIterator<Item = Second>) -> Option<usize> {
        let mut seconds = seconds.into_iter();
        seconds
            .position(|second| early.observe(&second))
            .map(|place| place + 1)
    }

    #[test]
    fn a_trial_goes_on_until_it_is_sure_and_its_least_time_is_over() {
        let sure = |ci, least_s| StopRule::Sure(Until { ci, least_s });
        let calm = |n: u64| second(1000 + (31 * n * n + 7 * n) % 11, None);
        let soon = ends(early(sure(0.02, 1.0)), (0..90).map(calm)).unwrap();
        assert!((FIRST_LOOK..30).contains(&soon), "{soon}");
        let later = ends(early(sure(0.02, 40.0)), (0..90).map(calm)).unwrap();
        assert!((40..50).contains(&later), "{later}");
        let wild = |n: u64| second(if n % 7 < 3 { 200 } else { 1000 }, None);
        assert_eq!(ends(early(sure(0.001, 1.0)), (0..90).map(wild)), None);
        // It does not end before its time in its last second.
        assert_eq!(ends(early(sure(0.02, 55.0)), (0..60).map(calm)), None);
    }

    #[test]
    fn the_warm_up_is_no_measurement_but_shows_what_is_not_steady() {
        let sure = StopRule::Sure(Until {
            ci: 0.5,
            least_s: 1.0,
        });
        let of = |phase, n: u64| Second {
            phase,
            ..second(1000 + (31 * n * n + 7 * n) % 11, None)
        };
        let warmup = (0..90).map(|n| of(Phase::Warmup, n));
        assert_eq!(ends(early(sure), warmup), None);
        let mut early = early(sure);
        for n in 0..40 {
            assert!(!early.observe(&of(Phase::Warmup, n)));
        }
        let measured = (0..30).map(|n| of(Phase::Measure, n));
        assert!(ends(early, measured).is_some_and(|second| second >= FIRST_LOOK));
    }

    #[test]
    fn a_backlog_that_only_grows_ends_a_trial() {
        let rule = StopRule::Overloaded {
            longest: Duration::from_millis(50),
        };
        let growing = (0..10).map(|n| second(1000, Some(100 * n)));
        assert_eq!(ends(early(rule), growing), Some(4));
        // What four users hold, or 50 ms of work, is no backlog.
        let small = (0..10).map(|n| second(1000, Some(n / 3)));
        assert_eq!(ends(early(rule), small), None);
        let short = (0..10).map(|n| second(1000, Some(10 + n)));
        assert_eq!(ends(early(rule), short), None);
        // A stall that is over is none either.
        let stall = [0, 0, 900, 1800, 900, 0, 0, 0].map(|n| second(1000, Some(n)));
        assert_eq!(ends(early(rule), stall), None);
    }
}
