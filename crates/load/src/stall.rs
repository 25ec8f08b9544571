//! Detects a server that has stopped replying or cannot be reached.

use measure::slice::{ErrorCount, Second};
use workload::session::{FailureKind, SessionError};

use crate::spec::LoadSpec;

#[derive(Debug)]
pub(crate) struct ReplyProgress {
    last_ns: u64,
}

impl ReplyProgress {
    pub(crate) fn new(now_ns: u64) -> Self {
        Self { last_ns: now_ns }
    }

    /// Every reply is progress, including an error that the load ignores. A failed attempt to
    /// reconnect is not.
    pub(crate) fn update(&mut self, second: &Second, now_ns: u64) {
        let slice = &second.slice;
        let is_reply = |error: &ErrorCount| error.action != "reconnected";
        let has_replies = slice.response.count() + slice.statement_count() > 0;
        if has_replies || slice.errors.values().any(is_reply) {
            self.last_ns = now_ns;
        }
    }

    /// Whether there was no reply for `limit_ns`.
    pub(crate) fn has_none_for(&self, limit_ns: u64, now_ns: u64) -> bool {
        now_ns.saturating_sub(self.last_ns) >= limit_ns
    }
}

/// Whether an error means that the server cannot be reached, rather than being its reply.
pub(crate) fn is_unreachable(error: &SessionError) -> bool {
    !error.is_from_server() || error.kind == FailureKind::Away
}

/// The error for a server that sent no reply within the load's limit.
pub(crate) fn stalled_error(spec: &LoadSpec) -> SessionError {
    SessionError {
        kind: FailureKind::Lost,
        sqlstate: None,
        number: None,
        message: format!("no reply for {} s", spec.stall_limit.as_secs_f64()),
        statement: None,
    }
}
