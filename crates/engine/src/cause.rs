//! Causes of errors.

/// The cause of an error, which decides the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// Invalid usage: an option, a study, a directory in use.
    Usage,
    /// A server could not be started or reached, or refused the work.
    Server,
    /// The user interrupted it, or a disk is full: results so far are kept.
    Interrupted,
    /// An error in dyno, or of the operating system.
    Internal,
}
