//! When the transfers of a ledger are made.

use std::time::{Duration, Instant};

use crate::clock::Clock;
use crate::trial::Trial;

/// The time of a trial, for what runs beside its loads.
#[derive(Clone, Copy)]
pub(crate) struct Schedule<'a> {
    pub(crate) trial: &'a Trial,
    pub(crate) clock: Clock<'a>,
}

impl Schedule<'_> {
    /// Waits until an instant; false if the measurement ends before.
    pub(super) fn wait(self, due: Option<Instant>, begun: Instant) -> bool {
        let load = &self.trial.planned.load;
        let end = load.longest().map(|time| begun + load.warmup + time);
        let due = due.filter(|due| end.is_none_or(|end| *due < end));
        due.is_some_and(|due| self.clock.wait(due))
    }

    /// Now, on the trial's clock.
    pub(super) fn now_s(self) -> f64 {
        self.clock.seconds(Instant::now())
    }
}

/// The instants of one of several users who take turns, from a start, at a common rate. What is due
/// while a user is busy is left out: an outage is not made up for.
pub(super) struct Turns {
    begun: Instant,
    /// Of all users.
    per_s: f64,
    users: u32,
    /// The next turn, counted over all users.
    next: u64,
}

impl Turns {
    /// Those of a user, from 1.
    pub(super) fn new(begun: Instant, per_s: f64, user: u32, users: u32) -> Self {
        Self {
            begun,
            per_s,
            users,
            next: u64::from(user.saturating_sub(1)),
        }
    }

    /// The first turn that is not more than one turn of this user past; `None` in a time that no clock
    /// reaches.
    pub(super) fn next(&mut self, now: Instant) -> Option<Instant> {
        let users = u64::from(self.users.max(1));
        let elapsed_s = now.saturating_duration_since(self.begun).as_secs_f64();
        let due = (elapsed_s * self.per_s) as u64;
        let missed = due.saturating_sub(self.next) / users;
        let turn = self.next + missed * users;
        self.next = turn + users;
        let after = Duration::try_from_secs_f64(turn as f64 / self.per_s);
        self.begun.checked_add(after.ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_take_turns_and_leave_out_what_they_missed() {
        let begun = Instant::now();
        let at = |ms| begun + Duration::from_millis(ms);
        let mut second = Turns::new(begun, 10.0, 2, 2);
        let turns = [0, 100, 320, 1850, 1900].map(|ms| second.next(at(ms)));
        let expected = [100, 300, 500, 1700, 1900].map(|ms| Some(at(ms)));
        assert_eq!(turns, expected);
        let mut rare = Turns::new(begun, f64::MIN_POSITIVE, 1, 1);
        assert_eq!([rare.next(begun), rare.next(begun)], [Some(begun), None]);
    }
}
