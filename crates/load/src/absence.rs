//! A server that hangs or is away.

use std::time::{Duration, Instant};

use measure::slice::{ErrorCount, Second};
use workload::session::{FailureKind, SessionError};

use crate::spec::LoadSpec;

/// When something last came of a load.
#[derive(Debug)]
pub(crate) struct Progress(Instant);

impl Progress {
    pub(crate) fn new(now: Instant) -> Self {
        Self(now)
    }

    /// Replies are progress, also refusals that a load does not mind. That the server
    /// could not be reached again is none.
    pub(crate) fn saw(&mut self, second: &Second, now: Instant) {
        let slice = &second.slice;
        let answers = |error: &ErrorCount| error.action != "reconnected";
        let has_replies = slice.response.count() + slice.statement_count() > 0;
        if has_replies || slice.errors.values().any(answers) {
            self.0 = now;
        }
    }

    /// Whether nothing has come for `limit`.
    pub(crate) fn has_none_for(&self, limit: Duration, now: Instant) -> bool {
        now.saturating_duration_since(self.0) >= limit
    }
}

/// Whether an error is that of a server that is not there, and none of its answers.
pub(crate) fn is_absence(error: &SessionError) -> bool {
    error.code == 0 || error.kind == FailureKind::Away
}

/// What is said of a server from which nothing came for the load's limit.
pub(crate) fn stalled_error(spec: &LoadSpec) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        code: 0,
        sqlstate: None,
        message: format!("no reply for {} s", spec.stall_limit.as_secs_f64()),
        statement: None,
    }
}
