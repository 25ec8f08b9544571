//! Ends a trial before its time when nothing more is to be learnt from it.

use std::time::Duration;

use measure::ended::Ended;
use measure::interval::{self, MIN_POINTS, Part};
use measure::slice::{Phase, Second};

use crate::trial::Trial;

/// When a trial may end before its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EarlyEnd {
    /// When the mean throughput is known well enough.
    Sure {
        /// Half of its 95 % interval, as a share of it.
        ci: f64,
        /// Not before the measurement is so long.
        least: Duration,
    },
    /// When it is clear that more arrives than is done.
    Overloaded {
        /// A wait that is longer than this is too long.
        longest: Duration,
    },
}

/// Seconds in a row in which a backlog grows, before it is more than a stall.
const GROWING: usize = 3;

/// Listens to the seconds of a trial.
#[derive(Debug)]
pub(crate) struct Early {
    rule: Option<EarlyEnd>,
    at_most_s: f64,
    users: u64,
    seconds: Vec<Part>,
    backlogs: Vec<u64>,
    ended: Option<Ended>,
}

impl Early {
    pub(crate) fn new(trial: &Trial) -> Self {
        Self {
            rule: trial.early,
            at_most_s: trial.load.time.map_or(f64::INFINITY, |t| t.as_secs_f64()),
            users: u64::from(trial.load.users) * u64::from(trial.instances),
            seconds: Vec::new(),
            backlogs: Vec::new(),
            ended: None,
        }
    }

    /// Why the trial ended before its time.
    pub(crate) fn ended(&self) -> Option<Ended> {
        self.ended
    }

    /// A second of all loads together is over; says whether the trial may end.
    pub(crate) fn hear(&mut self, second: &Second) -> bool {
        let Some(rule) = self.rule.filter(|_| second.phase == Phase::Measure) else {
            return false;
        };
        self.seconds.push(Part {
            total: second.slice.response.count() as f64,
            weight: second.end_ns.saturating_sub(second.start_ns) as f64 / 1e9,
        });
        self.backlogs.extend(second.backlog);
        if self.ended.is_none() {
            self.ended = match rule {
                EarlyEnd::Sure { ci, least } => self.sure(ci, least),
                EarlyEnd::Overloaded { longest } => self.overloaded(longest),
            };
        }
        self.ended.is_some()
    }

    fn after_s(&self) -> f64 {
        self.seconds.iter().map(|second| second.weight).sum()
    }

    fn sure(&self, ci: f64, least: Duration) -> Option<Ended> {
        let after_s = self.after_s();
        // A second may be a little shorter than a second.
        if self.seconds.len() < MIN_POINTS || after_s + 0.05 < least.as_secs_f64() {
            return None;
        }
        let reached = interval::estimate(&self.seconds)?.relative()?;
        (reached <= ci && after_s < self.at_most_s).then_some(Ended::Sure {
            after_s,
            at_most_s: self.at_most_s,
            reached,
        })
    }

    /// A backlog that grows and grows, that the users cannot be what holds, and through
    /// which nothing comes in time.
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

    use super::*;

    fn early(rule: EarlyEnd) -> Early {
        Early {
            rule: Some(rule),
            at_most_s: 60.0,
            users: 4,
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
    fn ends(mut early: Early, seconds: impl IntoIterator<Item = Second>) -> Option<usize> {
        let mut seconds = seconds.into_iter();
        seconds
            .position(|second| early.hear(&second))
            .map(|place| place + 1)
    }

    #[test]
    fn a_trial_goes_on_until_it_is_sure_and_its_least_time_is_over() {
        let sure = |ci, least| EarlyEnd::Sure {
            ci,
            least: Duration::from_secs(least),
        };
        let calm = |n: u64| second(1000 + n % 3, None);
        assert_eq!(ends(early(sure(0.02, 30)), (0..50).map(calm)), Some(30));
        let soon = ends(early(sure(0.02, 1)), (0..50).map(calm)).unwrap();
        assert!((MIN_POINTS..20).contains(&soon), "{soon}");
        let wild = |n: u64| second(if n % 7 < 3 { 200 } else { 1000 }, None);
        assert_eq!(ends(early(sure(0.01, 1)), (0..50).map(wild)), None);
        // The warm-up teaches nothing.
        let warmup = |n| Second {
            phase: Phase::Warmup,
            ..calm(n)
        };
        assert_eq!(ends(early(sure(0.5, 1)), (0..50).map(warmup)), None);
    }

    #[test]
    fn a_backlog_that_only_grows_ends_a_trial() {
        let rule = EarlyEnd::Overloaded {
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
