//! Whose fault a failure is.

/// Whose fault a failure is: what the exit code says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// What was asked for cannot be: an option, a study, a place that is taken.
    Usage,
    /// A server could not be started or reached, or refused the work.
    Server,
    /// The user, or a full disk: what was measured is kept.
    Interrupted,
    /// dyno's own.
    Internal,
}
