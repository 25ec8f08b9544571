//! What agents report of a load. All times are on the coordinator's clock.

use load::{End, LoadError, LoadEvent, LoadOutcome};
use measure::recovery::TimedError;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Report {
    Event(LoadEvent),
    /// All users are connected.
    Ready,
    /// A connection failed, so roles may have changed.
    Alert,
    Pulse(PulseReport),
    Ended(Ended),
}

/// What has happened since the last one.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct PulseReport {
    pub(super) completed: u64,
    pub(super) errors: Vec<TimedError>,
    /// When each transaction ended that is awaited.
    pub(super) firsts_ns: Vec<Option<u64>>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) how: Result<LoadOutcome, LoadError>,
    /// When its load began.
    pub(super) began_ns: Option<u64>,
}

/// The difference between the clock of a load and the coordinator's, on which it begins at the same
/// instant.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shift(i64);

impl Shift {
    pub(super) fn between(there_ns: u64, here_ns: u64) -> Self {
        Self(there_ns.wrapping_sub(here_ns) as i64)
    }

    pub(super) fn there_ns(self, here_ns: u64) -> u64 {
        here_ns.saturating_add_signed(self.0)
    }

    pub(super) fn here_ns(self, there_ns: u64) -> u64 {
        there_ns.saturating_add_signed(self.0.saturating_neg())
    }

    pub(super) fn event(self, mut event: LoadEvent) -> LoadEvent {
        if let LoadEvent::Second(second) = &mut event {
            second.start_ns = self.there_ns(second.start_ns);
            second.end_ns = self.there_ns(second.end_ns);
        }
        event
    }

    pub(super) fn outcome(self, mut outcome: LoadOutcome) -> LoadOutcome {
        if let End::ServerLost { at_ns, .. } = &mut outcome.end {
            *at_ns = self.there_ns(*at_ns);
        }
        outcome
    }

    pub(super) fn error(self, mut error: TimedError) -> TimedError {
        let at_ns = (error.at_s * 1e9).round() as u64;
        error.at_s = self.there_ns(at_ns) as f64 / 1e9;
        error
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_an_agent_become_the_coordinators() {
        let shift = Shift::between(7_000, 10_000);
        assert_eq!(
            (shift.there_ns(10_500), shift.here_ns(7_500)),
            (7_500, 10_500)
        );
        assert_eq!(shift.there_ns(1_000), 0);
        let error = TimedError {
            at_s: 1e-5,
            code: "1".to_owned(),
            message: "no".to_owned(),
            action: "ignored".into(),
        };
        assert_eq!(shift.error(error).at_s, 7e-6);
    }
}
