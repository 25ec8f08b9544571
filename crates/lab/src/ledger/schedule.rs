//! When the users and the readers of a ledger act.

use std::time::{Duration, Instant};

use super::Ledger;
use super::recorder::Full;
use crate::drive::clock::Clock;

impl Ledger<'_> {
    /// Calls `act` at the turns of user number `user` until the measurement ends, or until nothing
    /// more can be recorded. All users together act at `rate`.
    pub(super) fn take_turns(
        &self,
        clock: Clock<'_>,
        rate: f64,
        user: u32,
        users: u32,
        mut act: impl FnMut() -> Result<(), Full>,
    ) {
        let Some(begun) = clock.begun() else {
            return;
        };
        let time = self.load.longest();
        let end = time.map(|time| begun + self.load.warmup + time);
        let mut turns = Turns::new(begun, rate, user, users);
        while let Some(due) = turns.next(Instant::now()) {
            let is_in_time = end.is_none_or(|end| due < end);
            if !is_in_time || !clock.wait(due) || act().is_err() {
                return;
            }
        }
    }
}

/// The instants at which one of several users acts. They take turns at a common rate. Turns that
/// pass while a user is busy are dropped: there is no catching up after an outage.
struct Turns {
    begun: Instant,
    /// The rate of all users together.
    per_s: f64,
    users: u32,
    /// Index of the next turn, counted over all users.
    next: u64,
}

impl Turns {
    /// The turns of user number `user`, counted from 1.
    fn new(begun: Instant, per_s: f64, user: u32, users: u32) -> Self {
        Self {
            begun,
            per_s,
            users,
            next: u64::from(user.saturating_sub(1)),
        }
    }

    /// The first turn that is not overdue by more than one interval of this user; `None` if the
    /// clock cannot represent it.
    fn next(&mut self, now: Instant) -> Option<Instant> {
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
