//! Backoff: how long a user that lost its connection waits before it reconnects.

use std::time::Duration;

use rand::RngExt;
use rand_xoshiro::Xoshiro256PlusPlus;
use workload::session::{FailureKind, SessionError};

use crate::control::Control;

/// The maximum wait after the first failed attempt, which doubles with each further one.
const FIRST_WAIT: Duration = Duration::from_millis(100);
/// The limit of that growth.
const MAX_WAIT: Duration = Duration::from_secs(5);
/// The limit while the server is known to be restarting. It bounds the precision with which recovery
/// is measured.
const MAX_WAIT_FOR_RESTART: Duration = Duration::from_millis(200);

/// The failed attempts of a user since its last successful transaction.
#[derive(Debug, Default)]
pub(crate) struct Outage {
    attempts: u32,
    /// Whether the user is counted among those without a connection.
    is_away: bool,
}

impl Outage {
    /// Counts a connection that was lost, or could not be opened, because of `error`. Returns
    /// how long to wait before the next attempt: zero before the first one.
    pub(crate) fn wait_after(
        &mut self,
        control: &Control,
        error: &SessionError,
        rng: &mut Xoshiro256PlusPlus,
    ) -> Duration {
        let attempts = self.attempts;
        self.attempts = attempts.saturating_add(1);
        let Some(failed_before) = attempts.checked_sub(1) else {
            return Duration::ZERO;
        };
        self.count_away(control, error);
        let longest = match error.kind {
            FailureKind::Away => MAX_WAIT_FOR_RESTART,
            _ => MAX_WAIT,
        };
        let wait = FIRST_WAIT.saturating_mul(1 << failed_before.min(16));
        // Jitter keeps users that lost the server together from reconnecting together.
        wait.min(longest).mul_f64(rng.random_range(0.5..=1.0))
    }

    /// Counts the user among those without a connection, because of `error`.
    pub(crate) fn count_away(&mut self, control: &Control, error: &SessionError) {
        let is_new = !std::mem::replace(&mut self.is_away, true);
        control.user_is_away(is_new, error);
    }

    /// Starts over without a wait, because other servers are tried next.
    pub(crate) fn restart(&mut self) {
        self.attempts = 0;
    }

    /// Ends the outage after a successful transaction.
    #[inline]
    pub(crate) fn end(&mut self, control: &Control) {
        if self.attempts > 0 {
            self.attempts = 0;
            if std::mem::take(&mut self.is_away) {
                control.user_returned();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;
    use crate::tests::script::error;

    #[test]
    fn a_restart_is_awaited_shortly_and_a_success_ends_the_outage() {
        let control = Control::new(1, false);
        let mut outage = Outage::default();
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(1);
        let error = error(FailureKind::Lost, 0);
        outage.wait_after(&control, &error, &mut rng);
        assert_eq!(control.users_away(), None, "the first attempt may succeed");
        outage.wait_after(&control, &error, &mut rng);
        assert_eq!(control.users_away(), Some((1, error.clone())));
        // Even after many attempts that could not reach it.
        for _ in 0..10 {
            outage.wait_after(&control, &error, &mut rng);
        }
        let away = self::error(FailureKind::Away, 0);
        assert!(outage.wait_after(&control, &away, &mut rng) <= MAX_WAIT_FOR_RESTART);
        outage.end(&control);
        assert_eq!(control.users_away(), None);
        let wait = outage.wait_after(&control, &error, &mut rng);
        assert_eq!(wait, Duration::ZERO);
    }
}
