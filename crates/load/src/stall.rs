//! Detects a server that has stopped replying or cannot be reached.

use measure::slice::{ErrorCount, Second};
use workload::session::{FailureKind, SessionError};

use crate::spec::LoadSpec;

/// Whether there were replies. An error that the load ignores is one; a failed attempt to reconnect
/// is not.
pub(crate) fn has_replies(second: &Second) -> bool {
    let slice = &second.slice;
    let is_reply = |error: &ErrorCount| error.action != "reconnected";
    let has_any = slice.response.count() + slice.statement_count() > 0;
    has_any || slice.errors.values().any(is_reply)
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
